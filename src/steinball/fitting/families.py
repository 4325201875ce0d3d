"""The family that a user means, how its parameters are fitted, and what each point does to them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from steinball.adapters.estimators import fitted_copy, fitted_model
from steinball.arrays import Floats, as_number, as_samples, check_kind, check_resamples, to_host
from steinball.fitting.minimum_ksd import Minimum, minimize_ksd
from steinball.kernels import Kernel
from steinball.models.base import Model
from steinball.models.family import Family, NormalFamily
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import MixtureFamily
from steinball.models.positive import ExponentialDistributions, GammaFamily, LogNormalFamily, WeibullFamily
from steinball.models.registry import Fit, read_family
from steinball.models.student_t import StudentFamily
from steinball.rows import Rows
from steinball.stein import SteinKernel
from steinball.tilts import Tilt

_ON_THE_LINE: Mapping[str, Callable[[], Family]] = {
    "student-t": StudentFamily,
    "exponential": ExponentialDistributions,
    "gamma": GammaFamily,
    "lognormal": LogNormalFamily,
    "weibull": WeibullFamily,
}
FAMILIES = ("normal", *_ON_THE_LINE, "mixture:k")


@dataclass(frozen=True, eq=False)
class Fitter:
    """Something that fits models and whose parameters are not known: ``fit(x)`` gives a model."""

    fit: Callable[[Floats], Model]
    label: str


def as_family(family: Any, dimension: int, known_params: Mapping[str, float] | None = None) -> Family | Fitter:
    """The family that a user means, for data with so many columns.

    Parameters
    ----------
    family : str, Family, distribution of SciPy, or object with ``fit``
        A name of ``"normal"``, ``"student-t"``, ``"exponential"``, ``"gamma"``, ``"lognormal"``, ``"weibull"`` and
        ``"mixture:3"``.
    dimension : int
        d.
    known_params : mapping, optional
        Parameters of a distribution of SciPy that are not fitted, by name.

    Examples
    --------
    >>> as_family("mixture:2", 1).names
    ('weight[1]', 'mean[1]', 'var[1]', 'mean[2]', 'var[2]')
    """
    given = check_kind({} if known_params is None else known_params, Mapping, "known_params", "a mapping of numbers")
    known = {name: as_number(value, f"known_params[{name!r}]") for name, value in given.items()}
    meant = _found(family, check_resamples(dimension, "dimension"), known)
    label = Knowledge(family).name or type(family).__name__
    found = meant if isinstance(meant, Family) else Fitter(meant, label)
    if known and not (isinstance(found, Family) and set(known) <= set(found.fixed)):
        raise ValueError(
            f"`known_params` are for families of SciPy and cannot be given for {found.label}: pass one such as "
            "`scipy.stats.norm`, or a `Family` that does not fit them."
        )
    return found


def _found(family: Any, dimension: int, known: dict[str, float]) -> Family | Fit:
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        return _named(family, dimension)
    if isinstance(family, type):
        raise TypeError(f"`family` must be an instance, got the class {family.__name__}; make one.")
    if (found := read_family(family, dimension, known)) is not None:
        return found
    if "fit" in dir(family):
        return partial(fitted_copy, family)
    if Knowledge(family).has_score:
        raise TypeError(
            f"`family` is one model, an object of type {type(family).__name__}, and not what fits one. Test a model "
            "that is known by `sb.ksd_test`; or pass a function from data to a model."
        )
    if not callable(family):
        raise TypeError(
            f"`family` must be one of {', '.join(FAMILIES)}, a distribution of scipy.stats, or have `fit(x)` that "
            f"returns a model, got an object of type {type(family).__name__}."
        )
    return partial(_fitted_by, family)


def _fitted_by(function: Callable[[Floats], Any], x: Floats) -> Model:
    return fitted_model(function(x))


def _named(text: str, dimension: int) -> Family:
    name, _, size = text.strip().lower().partition(":")
    if name == "normal" and not size:
        return NormalFamily(dimension)
    if name == "mixture" and re.fullmatch(r"[1-9]\d?", size):
        return MixtureFamily(int(size), dimension)
    if name not in _ON_THE_LINE or size:
        known = ", ".join(f'"{family}"' for family in FAMILIES)
        raise ValueError(f"`family` must be one of {known} (with a number for k), got {text!r}.")
    if dimension != 1:
        raise ValueError(f"`family={text!r}` is on the line, but `x` has {dimension} columns. Use one column.")
    return _ON_THE_LINE[name]()


@dataclass(frozen=True, eq=False)
class Estimate:
    """Fitted parameters (p,), and their influence function, (m, d) to (m, p): n times what a point moves them by.

    ``pulls`` (n, p) are what bootstrap draws take for the influences of the data, where these are not the best choice.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> mean = Estimate(x.mean(axis=0), lambda y: y - x.mean(axis=0))
    >>> np.isclose(mean.standard_errors(x), x.std() / 10)
    array([ True])
    """

    params: Floats
    influence: Callable[[Floats], Floats]
    pulls: Floats | None = None

    def standard_errors(self, x: Floats) -> Floats:
        """The sandwich estimate of the standard errors, from the influences of the data."""
        return np.asarray(np.sqrt(np.sum(self.influence(x) ** 2, axis=0)) / len(x))


class Estimator(ABC):
    """A way to fit the parameters of a family.

    Attributes
    ----------
    label : str
        Its name in summaries.
    bounded_influence : bool
        Whether one point can move the parameters by no more than a fixed number over n, wherever it lies.
    minimizes_ksd : bool
        Whether it minimizes the very distance that is tested.

    Examples
    --------
    >>> import steinball as sb
    >>> made = (sb.fitting.MaximumLikelihood(), sb.fitting.MinimumKSD())
    >>> [estimator.bounded_influence for estimator in made]
    [False, True]
    """

    label: ClassVar[str]
    bounded_influence: ClassVar[bool] = False
    minimizes_ksd: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        """The fitted parameters and their influence function."""

    def params(self, family: Family, x: Floats, stein: SteinKernel) -> Floats:
        """The fitted parameters alone."""
        return self.estimate(family, x, stein).params


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    r"""Maximum likelihood, with the influence function :math:`\psi = H^{-1} s`, H minus the mean slope of the scores s.

    Standard errors from it hold also where the family is wrong. Bootstrap draws take
    :math:`(S^\top S / n)^{-1} s` in its place, the regression on the parameter scores S of the data, which is the same
    in the limit where the family is right.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).gamma(2.0, size=50)
    >>> sb.fit_test(x, "gamma", fit=MaximumLikelihood(), rng=0).fit
    'maximum likelihood'
    """

    label: ClassVar[str] = "maximum likelihood"

    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        params = family.fit(x)
        scores = family.free_scores(params, x)
        inverse = _inverse(scores.T @ scores / len(x))
        slopes = _mean_slope(family, params, x)
        turn = inverse if slopes is None else _inverse(slopes)
        return Estimate(params, partial(_influence_by_scores, family, params, turn), scores @ inverse)


@dataclass(frozen=True)
class MinimumKSD(Estimator):
    """The member with the least KSD from the data: of bounded influence wherever the Stein kernel is bounded.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.append(np.random.default_rng(0).normal(size=200), 1e6)
    >>> abs(sb.fit_test(x, "normal", fit=MinimumKSD(), tilt="auto", rng=0).params["mean"]) < 0.2
    True
    """

    label: ClassVar[str] = "minimum KSD"
    bounded_influence: ClassVar[bool] = True
    minimizes_ksd: ClassVar[bool] = True

    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        found = minimize_ksd(family, x, stein)
        return Estimate(found.params, found.influence)


def _influence_by_scores(family: Family, params: Floats, inverse: Floats, points: Floats) -> Floats:
    return np.asarray(family.free_scores(params, points) @ inverse)


def _inverse(matrix: Floats) -> Floats:
    """The pseudo-inverse of a positive semi-definite matrix, after its rows and columns have lost their units."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.pinv(matrix / scale / scale[:, None], hermitian=True) / scale / scale[:, None])


def _mean_slope(family: Family, params: Floats, x: Floats) -> Floats | None:
    """Minus the mean derivative of the parameter scores; ``None`` where it is not positive definite."""
    free = family.inside(params)
    root = np.sqrt(np.mean(family.free_scores(params, x) ** 2, axis=0))
    units = 1.0 / np.where(root > 0.0, root, 1.0)
    found = np.zeros((len(params), len(params)))
    with np.errstate(all="ignore"):
        whole = -family.mean_slope(params, x, units)
    part = ((whole + whole.T) / 2.0 * units * units[:, None])[np.ix_(free, free)]
    if not np.isfinite(part).all() or (part.size and np.linalg.eigvalsh(part)[0] <= 1e-6 * np.abs(part).max()):
        return None
    found[np.ix_(free, free)] = part
    return found / units / units[:, None]


def as_estimator(fit: Any) -> Estimator:
    """The estimator that the user asked for: maximum likelihood by default."""
    wanted = (
        "None, MaximumLikelihood() or MinimumKSD() of `steinball.fitting`, or an estimator of your own derived from "
        "`steinball.fitting.Estimator`"
    )
    found: Estimator = MaximumLikelihood() if fit is None else check_kind(fit, Estimator, "fit", wanted)
    return found


@dataclass(frozen=True, eq=False)
class MinimumKSDFit:
    """A minimum-KSD fit: parameters, standard errors, the model and the influence function.

    Attributes
    ----------
    params, standard_errors : dict
        By the names of the family. The errors are sandwich estimates, from the influences of the data: they hold also
        where the family is wrong. For families that are not exponential the Hessian is numerical.
    model : Model
        The fitted member.
    kernel, tilt
        What was minimized, defaults resolved.

    Examples
    --------
    >>> x = np.append(np.random.default_rng(0).normal(size=200), 1e6)
    >>> fit = fit_minimum_ksd("normal", x)
    >>> abs(fit.params["mean"]) < 0.2
    True
    >>> bool(np.abs(fit.influence([[3.0], [1e3], [1e6]])).max() < 10.0)
    True
    """

    params: dict[str, float]
    standard_errors: dict[str, float]
    model: Model
    kernel: Kernel
    tilt: Tilt | None
    _minimum: Minimum

    def influence(self, points: Any) -> Floats:
        """What a share of mass at each of ``points`` (m, d) does to the parameters, per unit of mass, shape (m, p)."""
        return self._minimum.influence(to_host(as_samples(points, "points", least=1)))

    def plot(self, axes: Any = None) -> Any:
        """Draw the influence function of every parameter along the first column of the data."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if axes is None else axes
        x = self._minimum.distance.x
        center, spread = np.median(x, axis=0), np.ptp(x[:, 0]) or 1.0
        line = np.repeat(center[None], 200, axis=0)
        line[:, 0] = np.linspace(x[:, 0].min() - 0.25 * spread, x[:, 0].max() + 0.25 * spread, 200)
        support = self._minimum.family.support
        line = line if support is None else support.rows_inside(line)
        for name, curve in zip(self.params, self.influence(line).T, strict=True):
            axes.plot(line[:, 0], curve, label=name)
        axes.set(xlabel="x", ylabel="influence")
        axes.legend()
        return axes


def fit_minimum_ksd(
    family: Any, x: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = "auto"
) -> MinimumKSDFit:
    r"""Fit a family by the least KSD (Barp et al. 2019)

    .. math:: \hat\eta = \arg\min_\eta D^2(\eta).

    In closed form for families whose score is linear in natural parameters (normal, gamma, log-normal), otherwise by
    Gauss and Newton. With a bounded Stein kernel the influence of every point is bounded.

    Parameters
    ----------
    family : str, Family or distribution of SciPy
        As in :func:`steinball.fit_test`.
    x : array
        Observations, (n, d) or (n,).
    kernel : Kernel, optional
        By default the inverse multiquadric at the median distance.
    tilt : Tilt, "auto" or None
        ``"auto"`` bounds the Stein kernel around a robust first fit. ``None`` is no weight: not robust.

    Notes
    -----
    The score does not know the weights of separated modes, and neither does this fit: the weights of a mixture whose
    components lie apart are not estimated by it.

    Examples
    --------
    >>> x = np.random.default_rng(0).gamma(3.0, 2.0, size=500)
    >>> fit = fit_minimum_ksd("gamma", x)
    >>> round(fit.params["shape"], 1), round(fit.standard_errors["shape"], 1)
    (3.3, 0.2)
    """
    samples = to_host(as_samples(x))
    found = as_family(family, samples.shape[1])
    if not isinstance(found, Family):
        raise TypeError(f'`family` must be one whose members are known, such as "normal", got {found.label}.')
    stein = Rows.of(samples, found.model(found.start(samples))).choose(kernel, tilt)
    minimum = minimize_ksd(found, samples, stein)
    estimate = Estimate(minimum.params, minimum.influence)
    shown = found.reported(minimum.params, estimate.standard_errors(samples))
    params, errors_by_name = ({name: pair[k] for name, pair in shown.items()} for k in (0, 1))
    return MinimumKSDFit(params, errors_by_name, found.model(minimum.params), stein.kernel, stein.tilt, minimum)
