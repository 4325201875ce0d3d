"""Whether some member of a family fits: by a bootstrap of the fit, in regions (theorem D), or by splitting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from steinball.arrays import (
    Array,
    Floats,
    as_number,
    as_samples,
    as_seed,
    check_level,
    check_share,
    computed,
    take_rows,
    to_host,
)
from steinball.calibration import Calibration, ProjectedBootstrap, RefitBootstrap
from steinball.calibration.fitted import FittedCalibration, FittedModel, as_fitted, least_rows
from steinball.evidence.ksd import FamilyEvidence, KSDEvidence
from steinball.evidence.regions import FamilyRegionEvidence
from steinball.fitting.families import Estimate, Estimator, Fitter, MaximumLikelihood, as_estimator, as_family
from steinball.gof.assess import Specification, assess_problem
from steinball.gof.regions import region_details, region_remarks
from steinball.gram.choose import Settings
from steinball.kernels.base import Kernel, median_of_checked
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import Model
from steinball.models.family import Family
from steinball.models.knowledge import Knowledge
from steinball.models.standardized import MovedFamily, Standardization, Standardized, standardized
from steinball.problem import Problem
from steinball.radius.contamination import Huber
from steinball.record import Record, recorded
from steinball.regions.counted import Counted
from steinball.regions.design import Design
from steinball.regions.member import MOST_PARAMETERS, Column, Member, closest_member, heights, uniform_design
from steinball.regions.reading import Reading
from steinball.regions.source import Source, find_grid
from steinball.remarks import give
from steinball.results.gof import FitResult
from steinball.results.regions import RegionFitResult
from steinball.rows import Rows, in_no_coordinates, within_reach
from steinball.stein import SteinKernel
from steinball.tilts import Tilt

_DRAWS = 1999


def check_asked(share: float, family: Family | Fitter, columns: int, given: Mapping[str, Any]) -> None:
    """Refuse what cannot be compared in regions, and options that are for a test at the fitted model."""
    for name in (name for name, value in given.items() if value is not None):
        raise ValueError(
            f"`{name}` cannot be given with `contamination={share:g}`: all members of the family are then compared "
            f"with the rows in regions. Leave `{name}` out, or use `contamination=0`."
        )
    if why := _obstacle(family, columns):
        raise ValueError(
            f"`contamination={share:g}` compares all members of a family with the rows, and {family.label} {why}. Fit "
            "on one part of the rows (`sb.split`) and check the other: `sb.check(rest, model, "
            f"contamination={share:g})`."
        )


def _obstacle(family: Family | Fitter, columns: int) -> str:
    """Why not all members can be compared with rows in regions; empty where they can."""
    if isinstance(family, Fitter):
        return "gives the fitted one alone"
    if columns != 1:
        return f"is a family of {columns} columns"
    if type(family).margins is Family.margins:
        return "tells no distribution functions"
    many = len(family.names)
    return f"has {many} parameters, more than the {MOST_PARAMETERS} of a search" if many > MOST_PARAMETERS else ""


def region_fit(
    x: Floats, family: Family | Fitter, share: float, level: float, known: dict[str, float]
) -> RegionFitResult:
    """The result for rows (n, 1), a tolerated contamination and a level."""
    assert isinstance(family, Family)
    if len(x) < (least := least_rows(len(family.names))):
        raise ValueError(
            f"`x` has {len(x)} rows for {len(family.names)} parameters; a tolerance over a family needs at least "
            f"{least}. Use more rows or a smaller family, or `contamination=0` with RefitBootstrap(199)."
        )
    grid = find_grid(x)
    column = Column.of(x, grid, family.support)
    member, null = closest_member(family, column, share, _DRAWS)
    source = Source(cdf=partial(_cdf, family, member.params), grid=grid)
    counted, reading = _counted(source, member, len(x)), Reading(None, source, x)
    evidence = FamilyRegionEvidence(counted, null, reading, family=family, column=column, member=member)
    shown = family.reported(member.params, np.zeros_like(member.params))
    return RegionFitResult(
        **evidence.decide(Huber(share), evidence.checked_level(level)),
        n=len(x),
        dimension=1,
        views=1,
        details=region_details(reading),
        family=family.label,
        params={name: value for name, (value, _) in shown.items()},
        known_params=known,
        _evidence=evidence,
        _record=Record(warnings=tuple(give(region_remarks(reading)))),
    )


def _cdf(family: Family, params: Floats, x: Floats) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    return heights(family, params, values.ravel()).reshape(values.shape)


def _counted(source: Source, member: Member, n: int) -> Counted:
    """The counts of the search, with cuts in the units of the rows."""
    uniform = uniform_design(n).cuts[0]
    cut = replace(uniform, edges=source.quantiles(uniform.edges[0])[None])
    return Counted(Design(source, n, (cut,), (cut,)), [member.below[None]], [member.below[None]])


_REFITS, _FEW_ROWS, _ROWS_EACH, _MOST_REFITTED = 199, 60, 10, 1000
"""Refits by default, below so many rows, or so many for each parameter, but never above the last number of rows."""

_WIDER = 2.0
"""The length scale in median distances: location and scale are fitted, and what is left to see is coarser than them."""


@recorded
def fit_test(
    x: Any,
    family: Any,
    *,
    contamination: float = 0.0,
    known_params: Mapping[str, float] | None = None,
    fit: Estimator | None = None,
    calibration: Calibration | None = None,
    kernel: Kernel | None = None,
    tilt: Tilt | str | None = "needed",
    level: float = 0.05,
    rng: Any = None,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> FitResult | RegionFitResult:
    r"""Test whether some member of a family fits, up to a share of contamination; its parameters are fitted.

    .. math:: H_0: Q = (1 - \varepsilon') P_\eta + \varepsilon' R \quad
       \text{for some } \eta, \; \varepsilon' \le \varepsilon, \; R \text{ any}.

    A test of the fitted model as if it were known hardly ever rejects, since the fit has used up the freedom of the
    data; this one imitates the fit.

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1. The rows must be independent; for a series give
        ``calibration=WildBootstrap(999, dependence="auto")``.
    family : str, distribution of SciPy, estimator
        ``"normal"`` (any d), ``"student-t"``, ``"exponential"``, ``"gamma"``, ``"lognormal"``, ``"weibull"``,
        ``"mixture:3"``; a distribution of SciPy that is not frozen, such as ``scipy.stats.norm``; an estimator of
        scikit-learn; a function or an object with ``fit(x)`` that returns a model; or a
        :class:`steinball.fitting.Family`.
    contamination : float
        The tolerated share ε.
    known_params : mapping, optional
        Parameters of a distribution of SciPy that are not fitted, by name, as in ``scipy.stats.goodness_of_fit``.
    fit : Estimator, optional
        :class:`~steinball.fitting.MaximumLikelihood` by default.
    calibration : Calibration, optional
        :class:`ProjectedBootstrap` where parameter scores are known; ``RefitBootstrap(199)`` where they are not, and
        below 60 rows, or 10 for each parameter, where fits are quick (not for mixtures). ``WildBootstrap`` with
        ``dependence`` is ``ProjectedBootstrap`` with that dependence.
    kernel : Kernel, optional
        By default the inverse multiquadric at twice the median distance: what remains after a fit is coarser than
        location and scale. Twice the length scale raised the power against t(4) at n = 100 from .50 to .57. Several
        columns are tested in standardized coordinates, by the covariance of the fit, unless a kernel or tilt is given
        or the fit bounds the influence of a point.
    tilt : Tilt, "needed", "auto" or None
        ``"needed"`` is ``"auto"`` for families with an edge, and no tilt otherwise.
    level, rng, engine, memory_limit, n_jobs, progress
        As in :func:`ksd_test`.

    Returns
    -------
    FitResult or RegionFitResult
        The latter under a tolerance.

    Notes
    -----
    Under a tolerance members are compared with the rows in regions: p = sup over the members of the p-value of
    :func:`region_test`, which is exact at every n if the search misses no better member (``docs/theory/regions.md``,
    theorem D); it restarts before it rejects. That needs one column, known distribution functions and at most four
    parameters, and takes neither ``fit`` nor ``calibration``, ``kernel`` or ``tilt``. Other families are fitted on one
    part of the rows (:func:`split`) and the fitted model is checked on the other (:func:`check`).

    The calibrations say what they assume.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).gamma(3.0, size=300)
    >>> sb.fit_test(x, "normal", rng=0).rejected
    True
    >>> result = sb.fit_test(x, "gamma", rng=0)
    >>> result.rejected, round(result.params["shape"], 1), round(result.standard_errors["shape"], 1)
    (False, 3.2, 0.3)
    """
    samples, share, seed = computed(as_samples(x)), check_share(contamination, "contamination"), as_seed(rng)
    found = as_family(family, int(samples.shape[1]), known_params)
    settings = Settings(engine, memory_limit, n_jobs, progress)
    shared: dict[str, Any] = {"level": level, "rng": seed, "settings": settings}
    known = {name: float(value) for name, value in (known_params or {}).items()}
    if share > 0.0:
        given = {"fit": fit, "calibration": calibration, "kernel": kernel, "tilt": None if tilt == "needed" else tilt}
        check_asked(share, found, int(samples.shape[1]), given)
        return region_fit(to_host(within_reach(samples)), found, share, check_level(level), known)
    task = _Task(samples, found, kernel, tilt, known, shared).standardized(fit)
    found = task.family
    if isinstance(found, Fitter):
        return task.refitted(found, fit, calibration)
    return task.at_the_fit(found, as_estimator(fit), calibration)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is tested, and how."""

    samples: Array
    family: Family | Fitter
    kernel: Kernel | None
    tilt: Tilt | str | None
    known: dict[str, float]
    shared: dict[str, Any]
    given: Array | None = None

    def standardized(self, fit: Any) -> _Task:
        """The same in coordinates in which neither units nor correlations matter: those of the fit.

        On the line and for a fit by the KSD the coordinates are those of the data.
        """
        x, family = self.host, self.family
        free = in_no_coordinates(self.kernel, self.tilt) and x.shape[1] > 1
        if not free or (fit is not None and as_estimator(fit).bounded_influence):
            return self
        model = family.fit(x) if isinstance(family, Fitter) else family.model(family.fit(x))
        found = standardized(model, self.samples)
        if found is None or found[1].is_identity or found[1].support is not None:
            return self
        moved: Family | Fitter = (
            Fitter(partial(_fit_moved, family.fit, found[1]), family.label)
            if isinstance(family, Fitter)
            else MovedFamily(family, found[1])
        )
        return replace(self, samples=found[1](self.samples), family=moved, given=self.samples)

    def _rows(self, model: Model) -> Rows:
        """The rows as the user passed them, with a model that moves them where it is stated."""
        return Rows.of(self.samples if self.given is None else self.given, model)

    @property
    def host(self) -> Floats:
        """The samples as NumPy."""
        return to_host(self.samples)

    def _chosen(self, x: Array, model: Model, edge: bool) -> SteinKernel:
        """Kernel and tilt for data x around a model."""
        kernel = InverseMultiquadric(_WIDER * median_of_checked(x)) if self.kernel is None else self.kernel
        tilt = self.tilt
        if isinstance(tilt, str) and tilt == "needed":
            tilt = "auto" if edge else None
        rows = Rows.of(x, model) if self.given is None else Rows(x, model)  # x is where the model is stated
        return rows.choose(kernel, tilt)

    def _default(self, family: Family) -> FittedCalibration:
        """Refitting where the projection is not exact enough and fits are quick: small samples, many parameters."""
        few = min(max(_FEW_ROWS, _ROWS_EACH * len(family.names)), _MOST_REFITTED)
        return RefitBootstrap(_REFITS) if family.quick and len(self.host) < few else ProjectedBootstrap()

    def refitted(self, fitter: Fitter, fit: Any, calibration: Calibration | None) -> FitResult:
        """For an estimator whose parameters are not known."""
        if fit is not None:
            raise ValueError(f"`fit` cannot be given for {fitter.label}, which fits by itself. Leave it out.")
        model = fitter.fit(self.host)
        choose = partial(self._chosen, edge=Knowledge(model).support is not None)
        chosen = as_fitted(RefitBootstrap() if calibration is None else calibration)
        about: dict[str, Any] = {"family": fitter.label, "fit": "its own"}
        fitted = FittedModel(model, fitter.fit, choose=choose, settings=self.shared["settings"])
        return self._calibrated(fitted, choose(self.samples, model), chosen, about)

    def _calibrated(
        self, fitted: FittedModel, stein: SteinKernel, chosen: FittedCalibration, about: dict[str, Any]
    ) -> FitResult:
        problem, words = Problem.of(self._rows(fitted.model), stein.kernel, stein.tilt), self.shared
        calibration = chosen.for_fit(fitted, problem, words["rng"])
        asked = Specification(
            Huber(0.0), calibration, words["level"], words["rng"], words["settings"], stein.kernel, stein.tilt,
            "sample", check_model=False,
        )  # fmt: skip
        evidence, record = assess_problem(problem, asked)
        parts = {field.name: vars(evidence)[field.name] for field in fields(KSDEvidence)}
        return FitResult.of(FamilyEvidence(**parts), Huber(0.0), words["level"], record, **about)

    def at_the_fit(self, family: Family, estimator: Estimator, calibration: Calibration | None) -> FitResult:
        """A decision at the fitted model."""
        choose = partial(self._stein, family, estimator)
        likeliest = family.model(family.fit(self.host)) if isinstance(estimator, MaximumLikelihood) else None
        stein = choose(self.samples, likeliest)
        estimate = estimator.estimate(family, self.host, stein)
        pulls = estimate.influence(self.host) if estimate.pulls is None else estimate.pulls
        fitted = FittedModel(
            family.model(estimate.params) if likeliest is None else likeliest,
            partial(_refit_model, family, estimator, choose),
            partial(family.free_scores, estimate.params),
            None if estimator.minimizes_ksd else pulls,
            choose=choose,
            match=partial(_matched, family, estimator, choose, estimate.params),
            settings=self.shared["settings"],
        )
        chosen = self._default(family) if calibration is None else as_fitted(calibration)
        return self._calibrated(fitted, stein, chosen, self._described(family, estimator, estimate))

    def _stein(self, family: Family, estimator: Estimator, x: Array, model: Model | None) -> SteinKernel:
        """Kernel and tilt for data x: around a robust first fit where the estimator is robust, else around the fit."""
        if estimator.bounded_influence:
            model = family.model(family.start(to_host(x)))
        elif model is None or not isinstance(estimator, MaximumLikelihood):
            model = family.model(family.fit(to_host(x)))
        return self._chosen(x, model, family.support is not None)

    def _described(self, family: Family, estimator: Estimator, estimate: Estimate) -> dict[str, Any]:
        shown = family.reported(estimate.params, estimate.standard_errors(self.host))
        return {
            "family": family.label,
            "fit": estimator.label,
            "params": {name: value for name, (value, _) in shown.items()},
            "standard_errors": {name: error for name, (_, error) in shown.items()},
            "known_params": self.known,
            "_numerical": family.numerical,
        }


def _fit_moved(fit: Callable[[Floats], Model], move: Standardization, z: Floats) -> Model:
    """The model of z that is fitted where the data come from."""
    model = fit(move.back(z))
    return Standardized(model, move.of_model(model))


_Choose = Callable[[Array, Model | None], SteinKernel]


def _refitted(family: Family, estimator: Estimator, choose: _Choose, x: Floats) -> Floats:
    """The parameters of other data; maximum likelihood needs no kernel."""
    return family.fit(x) if isinstance(estimator, MaximumLikelihood) else estimator.params(family, x, choose(x, None))


def _refit_model(family: Family, estimator: Estimator, choose: _Choose, x: Floats) -> Model:
    return family.model(_refitted(family, estimator, choose, x))


def _matched(family: Family, estimator: Estimator, choose: _Choose, params: Floats, x: Floats) -> Floats:
    return family.matched(x, _refitted(family, estimator, choose, x), params)


def split(x: Any, fraction: float = 0.5, rng: Any = None) -> tuple[Array, Array]:
    """Cut the rows of ``x`` at random into a part to fit a model on and a part to test it on.

    Parameters
    ----------
    x : array
        Observations, shape (n, d) or (n,).
    fraction : float
        The share of rows in the first part.
    rng : None, int, SeedSequence or Generator
        Source of randomness.

    Returns
    -------
    first, second : arrays
        The rows in their old order within each part.

    Notes
    -----
    A test of the second part against a model fitted on the first tests that *fitted model*, not its family: a family
    that holds the truth is rejected once the second part is large enough to show the error of the fit. With 3 % of
    outliers under a 5 % tolerance and halves, .12 to .26 of right families were rejected. :func:`fit_test` tests the
    family, with all of the data.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = split(np.arange(10.0), 0.4, rng=0)
    >>> len(first), len(second)
    (4, 6)
    """
    samples = as_samples(x)
    n, share = int(samples.shape[0]), as_number(fraction, "fraction", low=0.0, high=1.0)
    size = round(share * n)
    if not 0 < size < n:
        raise ValueError(f"`fraction={fraction!r}` of {n} rows leaves a part empty. Choose another one.")
    order = np.random.default_rng(as_seed(rng)).permutation(n)
    return take_rows(samples, np.sort(order[:size])), take_rows(samples, np.sort(order[size:]))
