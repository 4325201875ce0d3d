"""Calibrations for a model that was fitted on the tested data: samples fitted anew, and draws without the freedom of
the fitted parameters (one pass, no refitting)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from steinball.arrays import Floats, generator_at, like, to_host
from steinball.calibration.base import BootstrapNull, Calibration, Resampling, tie_tolerance
from steinball.calibration.boundary import BoundaryNull, boundary_draws
from steinball.calibration.weighted import Length, MarkovCalibration, WildBootstrap, centered_counts
from steinball.checks.dependence import Chains
from steinball.gram.base import GramSummary
from steinball.gram.choose import DENSE_UP_TO, Settings, make_gram
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.models.base import Model
from steinball.models.knowledge import Knowledge
from steinball.models.support import off_edges
from steinball.problem import Findings, Problem
from steinball.radius.base import Radius
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, and how it came from its data.

    Parameters
    ----------
    model : Model
        The fitted model.
    refit : callable
        (n, d) data to the model fitted on them.
    scores : callable, optional
        Parameter scores ∂ log p/∂η of the fitted model, (n, d) to (n, p); ``None`` where they are not known.
    influence : (n, p) array, optional
        Influence of every point on the parameters. ``None``, where ``scores`` are known, says that the fit minimizes
        the KSD itself.
    choose : callable, optional
        Kernel and tilt for other data and the model fitted on them, as they were chosen for these; ``None`` where they
        do not depend on the data.
    match : callable, optional
        Moves other data so that their fit is the fitted model, as far as the family allows it.
    settings : Settings
        How the work over pairs is done.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> def fit(x):
    ...     return sb.models.Gaussian(mean=x.mean(), sd=x.std())
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> fitted = FittedModel(fit(x), refit=fit)
    >>> fitted.refit(x + 1.0).mean - fitted.model.mean
    array([1.])
    """

    model: Model
    refit: Callable[[Floats], Model]
    scores: Callable[[Floats], Floats] | None = None
    influence: Floats | None = None
    choose: Callable[[Floats, Model], SteinKernel] | None = None
    match: Callable[[Floats], Floats] | None = None
    settings: Settings = field(default_factory=Settings)


class FittedCalibration(Calibration):
    """A calibration that imitates the fit along with the data; :func:`steinball.fit_test` tells it of the fit.

    Examples
    --------
    >>> import steinball as sb
    >>> all(isinstance(made, FittedCalibration) for made in (
    ...     sb.ProjectedBootstrap(999), sb.RefitBootstrap(199)))
    True
    """

    @abstractmethod
    def for_fit(self, fitted: FittedModel, problem: Problem, seed: np.random.SeedSequence) -> Self:
        """The same calibration for this fit to these data."""

    def _told_by_the_fit(self, told: Any) -> Any:
        """What the calibration was told of the fit, if it was."""
        if told is None:
            raise TypeError(
                f"`{type(self).__name__}` is for models that were fitted on the tested data, and must know how. Use "
                "`sb.fit_test(x, family, calibration=...)`; for a model that is known, WeightedBootstrap(999)."
            )
        return told


@dataclass(frozen=True, eq=False)
class Refits(Findings):
    """Samples of the fitted model, each fitted anew: the b-th KSD depends on the seed and b alone."""

    fitted: FittedModel
    problem: Problem
    seed: np.random.SeedSequence

    def ksd(self, b: int) -> float:
        """D of the b-th sample from the model that was fitted on it."""
        fitted, problem = self.fitted, self.problem
        draws = Knowledge(fitted.model).needed_draws(len(problem), generator_at(self.seed, b))
        draws = off_edges(draws if fitted.match is None else fitted.match(draws), problem.support)
        model = fitted.refit(draws)
        stein = problem.stein if fitted.choose is None else fitted.choose(draws, model)
        again = Problem.at_scores(stein, model, like(draws, problem.samples))
        summary = make_gram(again, Request(), 0, replace(fitted.settings, progress=False)).summarise(Request())
        return math.sqrt(max(0.0, summary.mean))


@dataclass(frozen=True)
class RefitBootstrap(Resampling, FittedCalibration):
    r"""The parametric bootstrap: samples of the fitted model, each with a fit, kernel and tilt of its own

    .. math:: x^{(b)} \sim P_{\hat\eta}, \qquad D_b = D\left(x^{(b)}, P_{\hat\eta(x^{(b)})}\right).

    Parameters
    ----------
    n_resamples : int
        Number of draws B; each costs a fit and a pass over the pairs.

    Notes
    -----
    Assumed: a sampler, and an estimator under which the distribution of D moves continuously with the parameters. It
    needs neither parameter scores nor an influence function, so that it goes with any estimator. For a tolerance of 0.

    Where a map of the data, such as a change of their unit, turns a member of the family into another one, a sample
    :math:`x^{(b)}` is mapped to the fit of the data before anything else. For maximum likelihood in the normal family
    of any dimension, the log-normal and the exponential one it is then a draw of the data given their sufficient
    statistic. The level is exact at every n, whatever the kernel: at most
    :math:`\lfloor \alpha (B + 1) \rfloor / (B + 1)` (``docs/theory/fitted.md``). In other families the level is
    simulated (``docs/evidence``).

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).exponential(size=80)
    >>> sb.fit_test(x, "normal", calibration=RefitBootstrap(99), rng=0).rejected
    True
    """

    n_resamples: int = 199
    refits: Refits | None = field(default=None, repr=False, compare=False)
    label = "parametric bootstrap with refitting"
    estimators = ("v",)

    def tolerates(self, radius: Radius) -> bool:
        """Nothing: what contamination does to the fit is not imitated."""
        return not (radius.contamination or radius.allows_removal)

    def for_fit(self, fitted: FittedModel, problem: Problem, seed: np.random.SeedSequence) -> Self:
        """The same for this fit; refused where the fitted model has no sampler."""
        if Knowledge(fitted.model).sampler is None:
            raise ValueError(
                f"`{self!r}` draws from the fitted model, and {type(fitted.model).__name__} has no `sample(n, rng)`. "
                "Give it that method; or fit on one part of the data and test on the other (`sb.split`)."
            )
        return replace(self, refits=Refits(fitted, problem, seed))

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Nothing beyond the statistic."""
        self._told_by_the_fit(self.refits)
        return Request()

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws."""
        refits = self._told_by_the_fit(self.refits)
        ksds = [refits.once(b, partial(refits.ksd, b)) for b in range(self.n_resamples)]
        return BootstrapNull(np.array(ksds), tie_tolerance(summary.diagonal))


_MOST_DRAWS, _ALTOGETHER = 256, 512


def least_rows(parameters: int) -> int:
    """The fewest rows that so many parameters are fitted to.

    Examples
    --------
    >>> least_rows(2), least_rows(9)
    (10, 18)
    """
    return max(10, 2 * parameters)


@dataclass(frozen=True, eq=False)
class Projection:
    r"""Parameter scores S (n, p) at the points, influences Ψ (n, p) or ``None``, and what the squares of draws are
    multiplied by."""

    scores: Floats
    influence: Floats | None
    inflation: float = 1.0


@dataclass(frozen=True)
class ProjectedBootstrap(MarkovCalibration, FittedCalibration):
    r"""The weighted bootstrap for a fitted model: its draws without what the fit would have taken up

    .. math:: D_b^2 = \frac{\gamma}{n^2} \tilde w^\top U \tilde w, \qquad \tilde w = w - S c, \qquad
       c = \tfrac1n \Psi^\top w,

    with S the parameter scores and Ψ the influence functions of the estimator, :math:`n S (S^\top S)^{-1}` for maximum
    likelihood. For a minimum-KSD fit :math:`c = (S^\top U S)^{-1} S^\top U w`. One pass over the pairs gives U S along
    with everything else.

    Parameters
    ----------
    n_resamples : int
        Number of draws B.
    dependence, chains
        For rows that depend on each other, such as a series: the weights w are then the signs of
        :class:`WildBootstrap`, where both are explained. ``None`` are the multinomial weights of independent rows.

    Notes
    -----
    Assumed: a regular family with one support for all parameters, an estimator with the stated influence function, and
    independent observations. Then the level holds as n → ∞ (``docs/theory/fitted.md``). A length scale and tilt chosen
    from the data have no effect of first order. A parameter at the edge of its family is one that was not fitted.

    With ``dependence`` the linearization is the same for stationary, weakly dependent rows, and the signs imitate a
    mean of dependent features; the level is simulated only (``docs/theory/fitted.md``).

    γ corrects for p/n, since residuals from p directions are too short. It is the larger of :math:`(n / (n - p))^2` and
    the mean of :math:`|r_i|^2 / (1 - h_i)` over that of :math:`|r_i|^2`, with r the projected features and h the
    leverages of S, both at draws of the fitted model (at the data, where it has no sampler). At the data, a heavy tail
    would raise the leverages and cost power against it. Simulated levels and powers are in ``docs/evidence``.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).standard_t(4, size=200)
    >>> result = sb.fit_test(x, "normal", calibration=ProjectedBootstrap(999), rng=0)
    >>> result.rejected, result.at(calibration=sb.WeightedBootstrap(999)).rejected  # as if the model were known
    (True, False)
    """

    n_resamples: int = 999
    dependence: Length = None
    chains: Chains = 1
    projection: Projection | None = field(default=None, repr=False, compare=False)
    label = "projected bootstrap"
    estimators = ("v",)

    def for_fit(self, fitted: FittedModel, problem: Problem, seed: np.random.SeedSequence) -> Self:
        """The same for this fit; refused where no parameter scores are known."""
        if fitted.scores is None:
            raise ValueError(
                f"`{self!r}` needs parameter scores, which are not known for this family. Use RefitBootstrap(199)."
            )
        scores = fitted.scores(problem.host_samples)
        scale = np.sqrt(np.mean(scores * scores, axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)  # units of the parameters must not cost digits
        if len(scores) < (least := least_rows(scores.shape[1])):
            raise ValueError(
                f"`x` has {len(scores)} rows for {scores.shape[1]} parameters; {self!r} needs at least {least}. Use a "
                "smaller family, or RefitBootstrap(199)."
            )
        influence = None if fitted.influence is None else fitted.influence * scale
        inflation = _inflation(fitted, problem, scores / scale)
        return replace(self, projection=Projection(scores / scale, influence, inflation))

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows W − 1, and products with the parameter scores."""
        directions = self._told_by_the_fit(self.projection).scores
        if self.dependence is not None:
            return replace(self._markov_request(n, seed, start), directions=directions)
        return Request(WeightStream(centered_counts, n, seed, start, self.n_resamples), directions=directions)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundaryNull:
        """The projected draws, and where they point."""
        squares, linear = _projected(summary, self._told_by_the_fit(self.projection))
        ksd, lengths, along = boundary_draws(replace(summary, quadratic_forms=squares, linear_forms=linear))
        return BoundaryNull(ksd, lengths, np.clip(along, -lengths, lengths), tie_tolerance(summary.diagonal))


def _projected(summary: GramSummary, projection: Projection) -> tuple[Floats, Floats]:
    """w̃ᵀUw̃/n² and w̃ᵀU1/n² for every row of the weights, inflated."""
    n, s, products = len(summary), projection.scores, to_host(summary.direction_products)
    gram, toward = s.T @ products, s.T @ to_host(summary.row_means) * n
    influence = np.empty((n, 0)) if projection.influence is None else projection.influence / n
    both = np.hstack([products, influence])
    weighed = np.concatenate([np.asarray(chunk, dtype=np.float64) @ both for chunk in summary.weights])
    along, c = np.hsplit(weighed, [s.shape[1]])
    if projection.influence is None:
        c = np.linalg.lstsq(gram, along.T, rcond=None)[0].T
    squares = summary.quadratic_forms + (np.sum((c @ gram) * c, axis=1) - 2.0 * np.sum(c * along, axis=1)) / n**2
    linear = summary.linear_forms - c @ toward / n**2
    return projection.inflation * squares, np.sqrt(projection.inflation) * linear


def _inflation(fitted: FittedModel, problem: Problem, scores: Floats) -> float:
    """γ: the correction of squared draws for p/n."""
    n, p = scores.shape
    found = _leverages_of_the_model(fitted, problem, p) or _ratio(problem, scores, fitted.settings)
    return float(max((n / (n - p)) ** 2, found))


def _leverages_of_the_model(fitted: FittedModel, problem: Problem, p: int) -> float | None:
    """The ratio at draws of the model, as many as there are data; of fewer, stretched, where there are many."""
    n = len(problem)
    size = min(n, max(_MOST_DRAWS, 8 * p))
    samples = max(2, min(4, _ALTOGETHER // size))
    draws = Knowledge(fitted.model).draws(samples * size)
    if draws is None or fitted.scores is None:
        return None
    found, library = [], Knowledge(fitted.model).evaluated_in(problem.samples)
    for part in np.split(draws, samples):
        inside = off_edges(part, problem.support)
        there = problem.at(like(inside, library))
        scores = fitted.scores(inside)
        scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-300)
        found.append(_ratio(there, scores, Settings()))
    return 1.0 + (float(np.mean(found)) - 1.0) * size / n


def _ratio(problem: Problem, scores: Floats, settings: Settings) -> float:
    request = Request(directions=scores)
    exact = replace(settings, engine="dense" if len(problem) <= DENSE_UP_TO else "blocked", progress=False)
    return leverage_ratio(make_gram(problem, request, 0, exact).summarise(request), scores)


def leverage_ratio(summary: GramSummary, scores: Floats) -> float:
    r"""The mean of :math:`|r_i|^2 / (1 - h_i)` over that of :math:`|r_i|^2`

    with r the features less their regression on the parameter scores, and h the leverages of these.
    """
    products, diagonal = to_host(summary.direction_products), to_host(summary.diagonal)
    pseudo = np.linalg.pinv(scores)  # (p, n)
    leverages = np.clip(np.einsum("ip,pi->i", scores, pseudo), 0.0, 1.0 - 1e-6)
    inner = (pseudo @ products) @ pseudo  # in this order no matrix is (n, n)
    squares = diagonal - 2.0 * np.einsum("ip,pi->i", products, pseudo) + np.einsum("ip,pi->i", scores, inner)
    squares = np.maximum(squares, 0.0)
    return float(np.sum(squares / (1.0 - leverages)) / np.sum(squares)) if squares.any() else 1.0


def as_fitted(calibration: Calibration) -> FittedCalibration:
    """A calibration that knows of the fit; signs for dependent rows are projected like the weights of others."""
    if isinstance(calibration, WildBootstrap) and calibration.dependence is not None:
        return ProjectedBootstrap(calibration.n_resamples, calibration.dependence, calibration.chains)
    if not isinstance(calibration, FittedCalibration):
        raise TypeError(
            f"`calibration={calibration!r}` does not know that the model was fitted on these data, and would hardly "
            "ever reject. Use ProjectedBootstrap(999) or RefitBootstrap(199); for rows that depend on each other "
            'ProjectedBootstrap(999, dependence="auto").'
        )
    return calibration
