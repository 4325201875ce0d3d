"""The region test: is a region short of rows, and do the shares of data and model differ nowhere by more?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from steinball.arrays import as_seed, check_choice, check_level, check_resamples, check_share
from steinball.checks.dependence import dependent_values
from steinball.checks.rows import few_rows
from steinball.evidence.regions import RegionEvidence
from steinball.radius.base import Radius
from steinball.radius.contamination import Huber, TotalVariation
from steinball.record import Record, recorded
from steinball.regions.counted import count
from steinball.regions.reading import SLOW, Reading, read
from steinball.remarks import Remark, give
from steinball.results.regions import RegionResult

CALIBRATIONS = ("auto", "simulation", "bound")

_TWO_QUESTIONS = (
    "`contamination=0.05`: some rows are garbage, up to 5 %, and the others are an honest sample of the model. "
    "`tolerance=0.05`: in no region may the shares of data and model differ by more than 5 points."
)


def tolerated_set(contamination: float | None, tolerance: float | None) -> Radius:
    """What is tolerated, where exactly one of the two words is given.

    Examples
    --------
    >>> tolerated_set(0.05, None), tolerated_set(None, 0.1)
    (Huber(contamination=0.05), TotalVariation(distance=0.1))
    """
    if contamination is None and tolerance is None:
        raise TypeError(f"give `contamination` or `tolerance`: how much is good enough? {_TWO_QUESTIONS}")
    if contamination is not None and tolerance is not None:
        raise TypeError(f"give `contamination` or `tolerance`, not both: they are two questions. {_TWO_QUESTIONS}")
    if contamination is not None:
        return Huber(contamination)
    return TotalVariation(check_share(tolerance, "tolerance"))


@recorded
def region_test(
    x: Any,
    model: Any,
    *,
    contamination: float | None = None,
    tolerance: float | None = None,
    views: Any = None,
    calibration: str = "auto",
    n_resamples: int = 1999,
    level: float = 0.05,
    resolution: bool = True,
    rng: Any = None,
) -> RegionResult:
    r"""Compare the share of rows in every region with the probability of the model.

    .. math:: H_0: Q(A) \ge (1 - \varepsilon) P(A) \text{ for all } A \quad\text{(contamination)}, \qquad
       H_0: Q(A) \ge P(A) - \varepsilon \quad\text{(tolerance)}.

    Rows Q come from the model P with a share ε of contamination exactly if no region A is shorter of rows than that.
    Regions are intervals, and their complements, of *views*: the columns, the sum of squares, sum and largest of the
    standardized row, the log density, products of two columns, and what the user adds.

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1; independent rows. For a dictionary of probabilities, labels.
    model : object
        Anything that can be drawn from or has a distribution function: a model with ``sample(n, rng)``, a
        distribution of SciPy (also a discrete one, ``stats.poisson(3)``), torch or NumPyro, a mixture, a flow, a
        dictionary ``{category: probability}``, or draws, :func:`steinball.from_draws`.
    contamination, tolerance : float
        Exactly one of the two. ``contamination``: so large a share of the rows may be anything, the others are an
        honest sample of the model. ``tolerance``: in no region may the shares of data and model differ by more.
    views : function, list or dictionary of functions, optional
        Further views: functions from rows (n, d) to one number a row.
    calibration : {"auto", "simulation", "bound"}
        For ``contamination``: replicates of the model, exact at every n, or binomial tails times the number of regions,
        exact as well and without simulation; by default what sizes allow in some seconds. A difference of shares is
        always tested by binomial tails.
    n_resamples : int
        Number of replicates. They have a seed of their own and are kept with the model.
    level : float
        Level α.
    resolution : bool
        Whether to look for the grid that rounded rows lie on; draws of the model are then rounded alike.
    rng : ignored
        Nothing here is random but the replicates, whose seed is fixed.

    Returns
    -------
    RegionResult

    Notes
    -----
    The level holds at every n, for every contamination and for any number of views, because the views are fixed before
    the rows are seen; for ``from_draws`` with ten times as many rows as the data it is asymptotic. Rows must be
    independent. What no view shows is not seen: two bumps along a slanted direction, for instance; dependence between
    three columns. Theorems, proofs and simulations are in ``docs/theory/regions.md``.

    See Also
    --------
    check : the front door, which also compares scores.
    robust_ksd_test : for models that are known by their score alone.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> from scipy import stats
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> sb.region_test(x, stats.norm(), tolerance=0.1).verdict
    'good enough'
    >>> sb.region_test(x, stats.norm(0.0, 1.4), tolerance=0.05).verdict
    'misfit'
    >>> die = {face: 1 / 6 for face in range(1, 7)}
    >>> sb.region_test([1, 6, 6, 6, 2, 6, 6, 3, 6, 6, 6, 6, 6, 4, 6], die, contamination=0.05).verdict
    'misfit'
    """
    tolerated, level = tolerated_set(contamination, tolerance), check_level(level)
    as_seed(rng)
    check_choice(calibration, "calibration", CALIBRATIONS)
    reading = read(model, x, resolution)
    evidence = region_evidence(reading, tolerated, views, calibration, check_resamples(n_resamples))
    evidence.checked_level(level)
    return region_result(evidence, tolerated, level, Record(warnings=tuple(give(region_remarks(reading)))))


def region_evidence(reading: Reading, tolerated: Radius, views: Any, calibration: str, wanted: int) -> RegionEvidence:
    """The rows counted, and the simulated null where there is one."""
    design = reading.design(views)
    share = float(tolerated.amount or 0.0)
    simulated = tolerated.contamination is not None
    null = reading.null(design, share, views, calibration, wanted) if simulated else None
    return RegionEvidence(count(design, reading.rows), null, reading)


def region_result(evidence: RegionEvidence, tolerated: Radius, level: float, record: Record) -> RegionResult:
    """The result that the evidence gives."""
    reading, design = evidence.reading, evidence.counted.design
    return RegionResult(
        **evidence.decide(tolerated, level),
        n=len(reading.rows),
        dimension=reading.source.columns,
        views=design.views,
        details=region_details(reading),
        _evidence=evidence,
        _record=record,
    )


def region_details(reading: Reading) -> dict[str, Any]:
    """Where the rows were compared, what they were rounded to, and how the null was obtained."""
    said: dict[str, Any] = {"compared in": reading.space} if reading.space else {}
    if reading.source.grid is not None:
        steps = ", ".join(f"{step:.3g}" for step in np.unique(reading.source.grid.step) if step > 0.0)
        said["rounded to"] = f"multiples of {steps}, and so are the draws of the model"
    if reading.speed < SLOW:
        said["pool"] = f"one, since the sampler gives {reading.speed:.0f} rows a second: binomial tails decide"
    return said


def region_remarks(reading: Reading) -> Iterator[Remark]:
    """What has to be said of the rows."""
    n, d = reading.rows.shape
    if n < d:
        yield from few_rows(reading.rows)
    if not reading.source.discrete:
        yield from dependent_values(reading.source.rows(reading.rows).z.T)
