"""Bootstrap draws from which the freedom of fitted parameters is taken out: one pass, no refitting."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from steinball.arrays import Floats, check_resamples, like, to_host
from steinball.calibration.base import Calibration, tie_tolerance
from steinball.calibration.boundary import BoundaryNull
from steinball.calibration.fitted import FittedCalibration, FittedModel
from steinball.calibration.markov import Length, MarkovCalibration, WildBootstrap
from steinball.calibration.weighted import centered_counts
from steinball.checks.dependence import Chains
from steinball.gram.base import GramSummary
from steinball.gram.choose import DENSE_UP_TO, Settings, make_gram
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.tau.certificate import Supremum

_MOST_DRAWS, _ALTOGETHER = 256, 512
_DEFAULT = Settings()


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
    label: ClassVar[str] = "projected bootstrap"
    estimators: ClassVar[tuple[str, ...]] = ("v",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))
        self._check_dependence()

    def for_fit(self, fitted: FittedModel, problem: Problem, seed: np.random.SeedSequence) -> Self:
        """The same for this fit; refused where no parameter scores are known."""
        if fitted.scores is None:
            raise ValueError(
                f"`{self!r}` needs parameter scores, which are not known for this family. Use RefitBootstrap(199)."
            )
        x = problem.host_samples
        scores = fitted.scores(x)
        scale = np.sqrt(np.mean(scores * scores, axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)  # units of the parameters must not cost digits
        if len(x) < (least := least_rows(scores.shape[1])):
            raise ValueError(
                f"`x` has {len(x)} rows for {scores.shape[1]} parameters; {self!r} needs at least {least}. Use a "
                "smaller family, or RefitBootstrap(199)."
            )
        influence = None if fitted.influence is None else fitted.influence * scale
        inflation = _inflation(fitted, problem, scores / scale)
        return replace(self, projection=Projection(scores / scale, influence, inflation))

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows W − 1, and products with the parameter scores."""
        if self.projection is None:
            raise self._unfitted()
        if self.dependence is not None:
            return replace(self._markov_request(n, seed, start), directions=self.projection.scores)
        weights = WeightStream(centered_counts, n, seed, start, self.n_resamples)
        return Request(weights, directions=self.projection.scores)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundaryNull:
        """The projected draws, and where they point."""
        if self.projection is None or summary.direction_products is None:
            raise self._unfitted()
        squares, linear = _projected(summary, self.projection)
        ksd = float(np.sqrt(max(0.0, summary.mean)))
        lengths = np.sqrt(np.maximum(squares, 0.0))
        along = linear / ksd if ksd > 0.0 else np.zeros_like(lengths)
        return BoundaryNull(ksd, lengths, np.clip(along, -lengths, lengths), tie_tolerance(summary.diagonal))


def _projected(summary: GramSummary, projection: Projection) -> tuple[Floats, Floats]:
    """w̃ᵀUw̃/n² and w̃ᵀU1/n² for every row of the weights, inflated."""
    n, s, products = len(summary), projection.scores, to_host(summary.direction_products)
    gram, toward = s.T @ products, s.T @ to_host(summary.row_means) * n
    rows = np.concatenate([chunk @ np.hstack([products, _pulled(s, projection)]) for chunk in _floats(summary)])
    along, pulled = rows[:, : s.shape[1]], rows[:, s.shape[1] :]
    c = np.linalg.lstsq(gram, along.T, rcond=None)[0].T if projection.influence is None else pulled
    squares = summary.quadratic_forms + (np.sum((c @ gram) * c, axis=1) - 2.0 * np.sum(c * along, axis=1)) / n**2
    linear = summary.linear_forms - c @ toward / n**2
    return projection.inflation * squares, np.sqrt(projection.inflation) * linear


def _pulled(scores: Floats, projection: Projection) -> Floats:
    return np.empty((len(scores), 0)) if projection.influence is None else projection.influence / len(scores)


def _floats(summary: GramSummary) -> list[Floats]:
    return [np.asarray(chunk, dtype=np.float64) for chunk in summary.weights]


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
        inside = part if problem.support is None else problem.support.off_edges(part)
        there = problem.at(like(inside, library))
        scores = fitted.scores(inside)
        found.append(_ratio(there, (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-300)))
    return 1.0 + (float(np.mean(found)) - 1.0) * size / n


def _ratio(problem: Problem, scores: Floats, settings: Settings = _DEFAULT) -> float:
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
    inner = pseudo @ (products @ pseudo)
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
