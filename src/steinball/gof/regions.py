"""The region test: is a region short of rows, and do the shares of data and model differ nowhere by more?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from steinball.arrays import as_seed, check_choice, check_level, check_resamples, check_share, generator_at
from steinball.checks.dependence import dependent_values
from steinball.checks.rows import few_rows
from steinball.evidence.regions import RegionEvidence
from steinball.radius import Huber, Radius, TotalVariation
from steinball.record import recorded
from steinball.regions.counted import count
from steinball.regions.design import Design
from steinball.regions.reading import SLOW, Reading, read
from steinball.remarks import Remark
from steinball.results.regions import RegionResult

CALIBRATIONS = ("auto", "simulation", "bound")
LEAST_LEARNED = 20
"""Rows from which on views can be learned."""

_SPLIT = 8  # the generator below the seed of a test that splits its rows

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
    learn: bool = False,
    classifier: Any = None,
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
    learn : bool
        Whether views are learned as well, on a random half of the rows, and looked at on the other half: directions in
        which the rows are shifted or spread, and quadratic forms. Then p = min(1, 2 min(p of fixed views, p of learned
        ones)), and bounds are the larger ones at half of the level. In two columns and more. By default not: *good
        enough* would need about twice as many rows, since learned views are looked at on half of them (in 5 columns
        and 3,000 rows, a tolerance of 0.05 was certified in 0.67 of samples of the model without, in none with them).
    classifier : object, optional
        A classifier with ``fit(x, y)`` and ``decision_function(x)`` or ``predict_proba(x)``, as those of scikit-learn.
        A copy of it learns to tell the first half of the rows (1) from draws of the model (0), both standardized by the
        model; its value is one more learned view. It implies ``learn``.
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
    rng : None, int, SeedSequence or Generator
        Which half of the rows teaches learned views (SPEC 7). Nothing else is random but the replicates, whose seed is
        fixed.

    Returns
    -------
    RegionResult

    Notes
    -----
    The level holds at every n, for every contamination and for any number of views, because the views are fixed before
    the rows are seen; for ``from_draws`` with ten times as many rows as the data it is asymptotic. Rows must be
    independent. What no view shows is not seen: two bumps along a slanted direction, for instance; dependence between
    three columns. Learned views are fixed where they are looked at, since other rows taught them: the level holds with
    them too. Theorems, proofs and simulations are in ``docs/theory/regions.md``.

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
    check_choice(calibration, "calibration", CALIBRATIONS)
    settings = RegionSettings(as_seed(rng), learn, classifier, views, calibration, check_resamples(n_resamples))
    reading = read(model, x, resolution)
    evidence = settings.evidence(reading, tolerated)
    return RegionResult.of(
        evidence, tolerated, evidence.checked_level(level), region_remarks(reading), details=region_details(evidence)
    )


@dataclass(frozen=True, eq=False)
class RegionSettings:
    """How rows are compared in regions; the fields have the words of :func:`region_test`."""

    seed: SeedSequence
    learn: bool = False
    classifier: Any = None
    views: Any = None
    calibration: str = "auto"
    n_resamples: int = 1999

    @property
    def learns(self) -> bool:
        """Whether views are learned."""
        return self.learn or self.classifier is not None

    def evidence(self, reading: Reading, tolerated: Radius) -> RegionEvidence:
        """The rows counted, on one half of them in learned views as well, and the simulated null where there is one."""
        found, (n, d) = self._counted(reading, reading.design(self.views), tolerated, self.views), reading.rows.shape
        if not self.learns:
            return found
        if reading.source.discrete or (d == 1 and self.classifier is None):
            raise ValueError(
                "`learn` must be False for one column, counts and categories: all intervals of their values are looked "
                "at already. A `classifier` may still learn other functions of one column of numbers."
            )
        if n < LEAST_LEARNED:
            raise ValueError(
                f"`learn` needs at least {LEAST_LEARNED} rows, since half of them are learned on, got {n}."
            )
        half, design = reading.learned(generator_at(self.seed, _SPLIT), self.classifier)
        return replace(found, learned=self._counted(half, design, tolerated, None))

    def _counted(self, reading: Reading, design: Design, tolerated: Radius, views: Any) -> RegionEvidence:
        share, simulated = float(tolerated.amount or 0.0), tolerated.contamination is not None
        null = reading.null(design, share, views, self.calibration, self.n_resamples) if simulated else None
        return RegionEvidence(count(design, reading.rows), null, reading)


def region_details(evidence: RegionEvidence) -> dict[str, Any]:
    """Where the rows were compared, what they were rounded to, how the null was obtained, and what was learned."""
    reading, learned = evidence.reading, evidence.learned
    said: dict[str, Any] = {"compared in": reading.space} if reading.space else {}
    if reading.source.grid is not None:
        steps = ", ".join(f"{step:.3g}" for step in np.unique(reading.source.grid.step) if step > 0.0)
        said["rounded to"] = f"multiples of {steps}, and so are the draws of the model"
    if reading.speed < SLOW:
        said["pool"] = f"one, since the sampler gives {reading.speed:.0f} rows a second: binomial tails decide"
    if learned is not None:
        rest = f"they are looked at on the other {len(learned.reading.rows)} rows"
        said["learned"] = f"{learned.views} of the views, on a random half of the rows; {rest}"
    return said


def region_remarks(reading: Reading) -> Iterator[Remark]:
    """What has to be said of the rows."""
    n, d = reading.rows.shape
    if n < d:
        yield from few_rows(reading.rows)
    if not reading.source.discrete:
        yield from dependent_values(reading.source.rows(reading.rows).z.T)
