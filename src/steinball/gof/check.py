"""The front door: whatever model the user has, all tests that it allows, and one verdict."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from steinball.arrays import as_samples, as_seed, check_level, generator_at, naming, take_rows
from steinball.calibration import BoundaryBootstrap
from steinball.cautions import RemovalWarning
from steinball.evidence.check import CheckEvidence, ColumnsEvidence
from steinball.frames import frame_columns
from steinball.gof.fitted import fit_test
from steinball.gof.ksd import ksd_test, robust_ksd_test
from steinball.gof.regions import RegionSettings, region_details, region_remarks, tolerated_set
from steinball.models.base import model_at
from steinball.models.family import Family
from steinball.models.knowledge import Knowledge
from steinball.models.registry import class_names
from steinball.radius.base import Radius
from steinball.record import Record, recorded
from steinball.regions.reading import Reading, read_where_drawn
from steinball.results.base import Result
from steinball.results.check import CheckResult, ColumnsResult
from steinball.results.gof import GofResult
from steinball.results.regions import RegionFitResult, RegionResult
from steinball.tau.certificate import is_upper_bound

MOST_PAIRED = 10_000
"""Rows whose pairs are compared where regions see all rows."""

_COLUMNS = 9  # below the seed of a check, the seeds of its columns


@recorded
def check(
    x: Any,
    model: Any,
    *,
    contamination: float | None = None,
    tolerance: float | None = None,
    learn: bool = False,
    classifier: Any = None,
    level: float = 0.05,
    rng: Any = None,
) -> CheckResult:
    r"""Is the model good enough for these rows? All tests that the model allows, and one verdict.

    Where the model can be drawn from, the shares of rows in regions are compared with its probabilities
    (:func:`region_test`). Where it has a score, the kernel Stein discrepancy is compared with what is tolerated
    (:func:`robust_ksd_test`). With both, p = min(1, 2 min p).

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1; independent rows. A frame of pandas or polars as well.
    model : object
        Whatever you have: a distribution of SciPy, torch or NumPyro, a mixture, a flow, a model or function of your
        own (a score, :func:`from_log_density`), draws of a simulator (:func:`from_draws`), a dictionary
        ``{category: probability}``, or the name of a family whose parameters are fitted (``"normal"``). For a frame
        also a dictionary ``{column: model}``: each column that it names is checked with its own model.
    contamination : float, optional
        Some rows are garbage, up to this share, and the others are an honest sample of the model. Give this or
        ``tolerance``.
    tolerance : float, optional
        In no region may the shares of data and model differ by more.
    learn, classifier : bool, object
        Whether views are learned on a random half of the rows and looked at on the other half, and a classifier that
        learns as well (:func:`region_test`).
    level : float
        The probability of a false statement, at most.
    rng : None, int, SeedSequence or Generator
        Source of randomness (SPEC 7).

    Returns
    -------
    CheckResult, or :class:`ColumnsResult` for one model a column

    Notes
    -----
    *Misfit* denies that no more than was tolerated is wrong. *Good enough* says that in no region looked at the shares
    of data and model differ by more than was tolerated. For each distribution of the rows only one of these
    statements can be false, and either is with probability at most ``level``. A model that has a score alone is at best
    *close in KSD*: a small distance, which differences of shares may still hide behind. Rows that were rounded are
    compared by regions alone, since a score knows nothing of grids. Beyond 10,000 rows the pairs of a random 10,000 are
    compared. One model a column: Holm's procedure over the columns, whatever depends on what. Theorems and simulations:
    ``docs/theory/regions.md``.

    See Also
    --------
    region_test, robust_ksd_test, fit_test : the tests by themselves, with all of their options.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> x[::25] = 10.0  # 4 % of outliers
    >>> sb.check(x, sb.models.Gaussian(), contamination=0.01, rng=0).verdict
    'misfit'
    >>> sb.check(x, sb.models.Gaussian(), contamination=0.1, rng=0).verdict
    'good enough'
    """
    tolerated, level = tolerated_set(contamination, tolerance), check_level(level)
    settings = RegionSettings(as_seed(rng), learn, classifier)
    if not _of_columns(model):
        return _check(x, model, tolerated, level, settings)
    columns = _columns(x, model)
    calibration = "auto" if len(columns) <= level * (settings.n_resamples + 1) / 2.0 else "bound"
    parts, seed = {}, settings.seed
    for k, (name, values, own) in enumerate(columns):
        below = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, _COLUMNS, k))
        with naming(f"column `{name}`"):
            found = _check(values, own, tolerated, level, replace(settings, seed=below, calibration=calibration))
        parts[name] = found._called("", (name,))
    return _together(parts, tolerated, level)


def _check(x: Any, model: Any, tolerated: Radius, level: float, settings: RegionSettings) -> CheckResult:
    """The check of rows with one model."""
    reading = None if _is_family(model) else read_where_drawn(model, x)
    if settings.learns and reading is None:
        raise TypeError("`learn` and `classifier` compare shares in regions: they need a model that can be drawn from.")
    if _is_family(model):
        fitted = _fitted(x, model, tolerated, level, settings.seed)
        return _checked({"regions" if isinstance(fitted, RegionFitResult) else "distance": fitted}, tolerated, level)
    evidence = None if reading is None else settings.evidence(reading, tolerated)
    why, distance = _without_scores(model, reading), None
    if why is None:
        rows, why = _paired(x, reading, settings.seed)
        distance = _distance(rows, model, tolerated, level, settings.seed, alone=reading is None)
        why = why if distance is not None else "not compared, since no bound of the Stein kernel is known"
    tests: dict[str, Result] = {}
    if evidence is not None:
        remarks = region_remarks(evidence.reading) if distance is None else ()
        tests["regions"] = RegionResult.of(
            evidence, tolerated, evidence.checked_level(level), remarks, details=region_details(evidence)
        )
    tests |= {} if distance is None else {"distance": distance}
    return _checked(tests, tolerated, level, **({"scores": why} if why else {}))


def _of_columns(model: Any) -> bool:
    """Whether it is a dictionary of models; one of numbers gives the probabilities of categories."""
    return isinstance(model, Mapping) and not all(isinstance(value, Number) for value in model.values())


def _columns(x: Any, model: Mapping[Any, Any]) -> list[tuple[str, Any, Any]]:
    """Name, values and model of each column that is checked."""
    found = frame_columns(x)
    if found is None:
        raise TypeError(
            "`x` must be a frame of pandas, polars or pyarrow where `model` is a dictionary of one model a column, "
            f"got {type(x).__name__}. The probabilities of a dictionary of categories are numbers."
        )
    names = [name for name, _ in found]
    for name in map(str, model):
        if names.count(name) != 1:
            raise ValueError(f"`x` must have one column `{name}`, which `model` names, got {', '.join(names)}.")
    values = dict(found)
    return [
        (str(key), list(values[str(key)]) if isinstance(own, Mapping) else values[str(key)], own)
        for key, own in model.items()
    ]


def _together(parts: dict[str, CheckResult], tolerated: Radius, level: float) -> ColumnsResult:
    """One result of all columns."""
    evidence = ColumnsEvidence({name: part._evidence for name, part in parts.items()})
    record = Record().warned(f"{name}: {text}" for name, part in parts.items() for text in part._record.warnings)
    sizes: dict[str, Any] = {"n": next(iter(parts.values())).n, "dimension": len(parts)}
    return ColumnsResult.of(
        evidence, tolerated, evidence.checked_level(level), _tests=dict(parts), _record=record, **sizes
    )


def _is_family(model: Any) -> bool:
    """Whether the parameters of the model are to be fitted: a name, a family, or an unfrozen distribution of SciPy."""
    names = class_names(model)
    return isinstance(model, (str, Family)) or ("rv_continuous" in names and "rv_histogram" not in names)


def _without_scores(model: Any, reading: Reading | None) -> str | None:
    """Why scores are not compared; ``None`` where they are, empty where there is nothing to say."""
    if reading is None:
        return None
    if reading.labels or reading.source.discrete or reading.source.draws is not None:
        return ""
    if reading.source.grid is not None:
        return "not compared, since the rows are rounded"
    known = Knowledge(model)
    alone = not (known.has_score or known.density_method or known.base_map)
    if alone and (known.sampler is not None or known.cdf is not None):
        return ""
    found = Knowledge(model_at(model, reading.given))
    support = found.support if found.base_map is None else found.base_map.support
    outside = 0 if support is None else int(support.outside(reading.given).sum())
    return f"not compared, since {outside} of the rows lie outside the support of the model" if outside else None


def _paired(x: Any, reading: Reading | None, seed: SeedSequence) -> tuple[Any, str]:
    """The rows whose pairs are compared: all, or beside regions a random part of very many, and what is said of it."""
    samples = as_samples(x)
    if reading is None or len(reading.rows) <= MOST_PAIRED:
        return samples, ""
    chosen = np.sort(generator_at(seed, 7).permutation(len(reading.rows))[:MOST_PAIRED])
    return take_rows(samples, chosen), f"of {MOST_PAIRED:,} rows, drawn at random"


def _distance(
    rows: Any, model: Any, tolerated: Radius, level: float, seed: SeedSequence, alone: bool
) -> GofResult | None:
    """The test of scores: the paper's set for contamination, total variation for differences of shares.

    ``None`` where the level of the latter would not hold, for want of a bound, and regions are there (not ``alone``).
    """
    words: dict[str, Any] = {"level": level, "rng": seed}
    if tolerated.contamination is not None:
        return robust_ksd_test(rows, model, tolerated.contamination, **words)
    words |= {"calibration": BoundaryBootstrap(999, "scaled"), "tilt": "auto", "tau": "best"}
    with warnings.catch_warnings():
        warnings.simplefilter("default" if alone else "ignore", RemovalWarning)
        found = ksd_test(rows, model, radius=tolerated, **words)
    return found if alone or is_upper_bound(found.tau_kind) else None


def _fitted(x: Any, family: Any, tolerated: Radius, level: float, seed: SeedSequence) -> Result:
    if tolerated.contamination is None:
        raise TypeError(
            "`tolerance` is about a model whose parameters are known: of a family, give `contamination`, or fit it on "
            "one part of the rows and check the other (`sb.split`)."
        )
    return fit_test(x, family, contamination=tolerated.contamination, level=level, rng=seed)


def _checked(tests: dict[str, Result], tolerated: Radius, level: float, **details: Any) -> CheckResult:
    """One result of all tests."""
    first, evidence = next(iter(tests.values())), CheckEvidence({name: part._evidence for name, part in tests.items()})
    details |= vars(tests["regions"])["details"] if "regions" in tests else {}
    record = Record().warned(text for part in tests.values() for text in part._record.warnings)
    about: dict[str, Any] = {"n": first.n, "dimension": first.dimension, "details": details}
    return CheckResult.of(evidence, tolerated, evidence.checked_level(level), _tests=tests, _record=record, **about)
