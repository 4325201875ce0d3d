"""What a calibration knows of a model that was fitted on the tested data."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from steinball.arrays import Floats, check_resamples, generator_at, like
from steinball.calibration.base import BootstrapNull, Calibration, tie_tolerance
from steinball.gram.base import GramSummary
from steinball.gram.choose import Settings, make_gram
from steinball.gram.request import Request
from steinball.models.base import Model
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum

if TYPE_CHECKING:
    from steinball.radius.base import Radius


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

    def _unfitted(self) -> TypeError:
        return TypeError(
            f"`{type(self).__name__}` is for models that were fitted on the tested data, and must know how. Use "
            "`sb.fit_test(x, family, calibration=...)`; for a model that is known, WeightedBootstrap(999)."
        )


@dataclass(frozen=True, eq=False)
class Refits:
    """Samples of the fitted model, each fitted anew: the b-th KSD depends on the seed and b alone."""

    fitted: FittedModel
    problem: Problem
    seed: np.random.SeedSequence
    known: dict[int, float] = field(default_factory=dict)

    def ksd(self, b: int) -> float:
        """D of the b-th sample from the model that was fitted on it."""
        if b not in self.known:
            self.known[b] = self._ksd(b)
        return self.known[b]

    def _ksd(self, b: int) -> float:
        fitted, problem, support = self.fitted, self.problem, self.problem.support
        draws = Knowledge(fitted.model).needed_draws(len(problem), generator_at(self.seed, b))
        draws = draws if fitted.match is None else fitted.match(draws)
        draws = draws if support is None else support.off_edges(draws)
        model = fitted.refit(draws)
        stein = problem.stein if fitted.choose is None else fitted.choose(draws, model)
        again = Problem.at_scores(stein, model, like(draws, problem.samples))
        summary = make_gram(again, Request(), 0, replace(fitted.settings, progress=False)).summarise(Request())
        return math.sqrt(max(0.0, summary.mean))


@dataclass(frozen=True)
class RefitBootstrap(FittedCalibration):
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
    label: ClassVar[str] = "parametric bootstrap with refitting"
    estimators: ClassVar[tuple[str, ...]] = ("v",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))

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
        if self.refits is None:
            raise self._unfitted()
        return Request()

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws."""
        if self.refits is None:
            raise self._unfitted()
        draws: Floats = np.array([self.refits.ksd(b) for b in range(self.n_resamples)])
        return BootstrapNull(draws, tie_tolerance(summary.diagonal))
