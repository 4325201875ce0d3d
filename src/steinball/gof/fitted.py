"""Whether some member of a family fits: by a bootstrap of the fit, in regions (theorem D), or by splitting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from steinball import arrays
from steinball.arrays import Array, Floats, to_host
from steinball.calibration import Calibration, ProjectedBootstrap, RefitBootstrap
from steinball.calibration.fitted import FittedModel, as_fitted, least_rows
from steinball.evidence.ksd import FamilyEvidence
from steinball.evidence.regions import FamilyRegionEvidence
from steinball.fitting.families import Estimator, Fitter, MaximumLikelihood, as_estimator, as_family
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
from steinball.record import recorded
from steinball.regions.counted import Counted
from steinball.regions.design import Design
from steinball.regions.member import MOST_PARAMETERS, Column, Member, closest_member, heights, uniform_design
from steinball.regions.reading import Reading
from steinball.regions.source import Source, find_grid
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
    source = Source(cdf=partial(heights, family, member.params), grid=grid)
    counted, reading = _counted(source, member, len(x)), Reading(None, source, x, x)
    evidence = FamilyRegionEvidence(counted, null, reading, family=family, column=column, member=member)
    shown = family.reported(member.params, np.zeros_like(member.params))
    about: dict[str, Any] = {"details": region_details(evidence), "family": family.label, "known_params": known}
    about["params"] = {name: value for name, (value, _) in shown.items()}
    return RegionFitResult.of(evidence, Huber(share), evidence.checked_level(level), region_remarks(reading), **about)


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
    samples, share = arrays.computed(arrays.as_samples(x)), arrays.check_share(contamination, "contamination")
    found, seed = as_family(family, int(samples.shape[1]), known_params), arrays.as_seed(rng)
    known = {name: float(value) for name, value in (known_params or {}).items()}
    if share > 0.0:
        given = {"fit": fit, "calibration": calibration, "kernel": kernel, "tilt": None if tilt == "needed" else tilt}
        check_asked(share, found, int(samples.shape[1]), given)
        return region_fit(to_host(within_reach(samples)), found, share, arrays.check_level(level), known)
    words = {"level": level, "rng": seed, "settings": Settings(engine, memory_limit, n_jobs, progress)}
    task = _Task(samples, found, as_estimator(fit), kernel, tilt, calibration, words).standardized()
    if isinstance(task.family, Family):
        return task.at_a_member(task.family, known)
    if fit is not None:
        raise ValueError(f"`fit` cannot be given for {found.label}, which fits by itself. Leave it out.")
    return task.at_a_model(task.family)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is fitted and tested, and how; ``given`` are the rows as the user passed them, where others are tested."""

    samples: Array
    family: Family | Fitter
    estimator: Estimator
    kernel: Kernel | None
    tilt: Tilt | str | None
    calibration: Calibration | None
    words: dict[str, Any]
    given: Array | None = None

    def standardized(self) -> _Task:
        """The same in coordinates in which neither units nor correlations matter: those of the fit.

        On the line and for a fit by the KSD the coordinates are those of the data.
        """
        x, family = to_host(self.samples), self.family
        free = in_no_coordinates(self.kernel, self.tilt) and x.shape[1] > 1
        if not free or self.estimator.bounded_influence:
            return self
        found = standardized(family.model(family.fit(x)) if isinstance(family, Family) else family.fit(x), self.samples)
        if found is None or found[1].is_identity or found[1].support is not None:
            return self
        moved: Family | Fitter = (
            MovedFamily(family, found[1])
            if isinstance(family, Family)
            else Fitter(partial(_fit_moved, family.fit, found[1]), family.label)
        )
        return replace(self, samples=found[1](self.samples), family=moved, given=self.samples)

    def at_a_model(self, fitter: Fitter) -> FitResult:
        """A decision at what an estimator has fitted, whose parameters are not known."""
        model = fitter.fit(to_host(self.samples))
        fitted = FittedModel(model, fitter.fit, choose=self.choose, settings=self.words["settings"])
        about = {"family": fitter.label, "fit": "its own"}
        return self._decided(fitted, self.choose(self.samples, model), RefitBootstrap(), about)

    def at_a_member(self, family: Family, known: dict[str, float]) -> FitResult:
        """A decision at the fitted member; by refitting where the projection is not exact enough and fits are quick."""
        x = to_host(self.samples)
        likeliest = family.model(family.fit(x)) if isinstance(self.estimator, MaximumLikelihood) else None
        stein = self.choose(self.samples, likeliest)
        estimate = self.estimator.estimate(family, x, stein)
        pulls = estimate.influence(x) if estimate.pulls is None else estimate.pulls
        fitted = FittedModel(
            family.model(estimate.params) if likeliest is None else likeliest,
            partial(self._refitted, family),
            partial(family.free_scores, estimate.params),
            None if self.estimator.minimizes_ksd else pulls,
            self.choose,
            partial(self._matched, family, estimate.params),
            self.words["settings"],
        )
        few = min(max(_FEW_ROWS, _ROWS_EACH * len(family.names)), _MOST_REFITTED)
        default = RefitBootstrap(_REFITS) if family.quick and len(x) < few else ProjectedBootstrap()
        shown = family.reported(estimate.params, estimate.standard_errors(x))
        about: dict[str, Any] = {"family": family.label, "fit": self.estimator.label, "known_params": known}
        about |= {"params": {name: value for name, (value, _) in shown.items()}, "_numerical": family.numerical}
        about |= {"standard_errors": {name: error for name, (_, error) in shown.items()}}
        return self._decided(fitted, stein, default, about)

    def _decided(
        self, fitted: FittedModel, stein: SteinKernel, default: Calibration, about: dict[str, Any]
    ) -> FitResult:
        rows = Rows.of(self.samples if self.given is None else self.given, fitted.model)  # moved where it is stated
        problem, words = Problem.of(rows, stein.kernel, stein.tilt), self.words
        chosen = as_fitted(default if self.calibration is None else self.calibration)
        asked = Specification(Huber(0.0), chosen.for_fit(fitted, problem, words["rng"]), **words, check_model=False)
        evidence, remarks = assess_problem(problem, asked, kind=FamilyEvidence)
        return FitResult.of(evidence, Huber(0.0), words["level"], remarks, **about)

    def choose(self, x: Array, model: Any = None) -> SteinKernel:
        """Kernel and tilt for data x: around a robust first fit where the estimator is robust, else around the fit."""
        family = self.family
        if isinstance(family, Family):
            if self.estimator.bounded_influence:
                model = family.model(family.start(to_host(x)))
            elif model is None or not isinstance(self.estimator, MaximumLikelihood):
                model = family.model(family.fit(to_host(x)))
        edge = (family if isinstance(family, Family) else Knowledge(model)).support is not None
        kernel = InverseMultiquadric(_WIDER * median_of_checked(x)) if self.kernel is None else self.kernel
        tilt = ("auto" if edge else None) if self.tilt == "needed" else self.tilt
        rows = Rows.of(x, model) if self.given is None else Rows(x, model)  # x is where the model is stated
        return rows.choose(kernel, tilt)

    def _params(self, family: Family, x: Floats) -> Floats:
        """The parameters of other data; maximum likelihood needs no kernel."""
        quick = isinstance(self.estimator, MaximumLikelihood)
        return family.fit(x) if quick else self.estimator.params(family, x, self.choose(x))

    def _refitted(self, family: Family, x: Floats) -> Model:
        return family.model(self._params(family, x))

    def _matched(self, family: Family, params: Floats, x: Floats) -> Floats:
        return family.matched(x, self._params(family, x), params)


def _fit_moved(fit: Callable[[Floats], Model], move: Standardization, z: Floats) -> Model:
    """The model of z that is fitted where the data come from."""
    model = fit(move.back(z))
    return Standardized(model, move.of_model(model))


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
    samples = arrays.as_samples(x)
    n, share = int(samples.shape[0]), arrays.as_number(fraction, "fraction", low=0.0, high=1.0)
    size = round(share * n)
    if not 0 < size < n:
        raise ValueError(f"`fraction={fraction!r}` of {n} rows leaves a part empty. Choose another one.")
    order = np.random.default_rng(arrays.as_seed(rng)).permutation(n)
    return arrays.take_rows(samples, np.sort(order[:size])), arrays.take_rows(samples, np.sort(order[size:]))
