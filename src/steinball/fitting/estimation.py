"""Robust minimum-KSD estimation, in closed form for scores that are linear in the parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from steinball.arrays import (
    Floats,
    OutOfRangeError,
    as_number,
    as_numbers,
    as_samples,
    check_kind,
    check_resamples,
    to_host,
)
from steinball.discrepancy import ksd
from steinball.fitting.families import as_family
from steinball.fitting.minimum_ksd import Minimum, ScoreDistance, minimize_ksd, solve_positive
from steinball.kernels import InverseMultiquadric, Kernel
from steinball.models.base import Model
from steinball.models.family import ExponentialFamily, Family
from steinball.models.kernel_exponential import KernelExponentialFamily
from steinball.rows import Rows
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt, Tilt

_SUM_KERNEL: Kernel = reduce(add, [InverseMultiquadric((2.0 * square) ** 0.5) for square in (0.6, 1.0, 1.2)])
_TILT = PolynomialTilt()


def fit_kernel_exponential_family(
    samples: Any,
    *,
    kernel: Kernel | None = None,
    tilt: Tilt | None = _TILT,
    n_basis: int = 25,
    base_scale: float = 3.0,
    ridge: float = 1e-4,
) -> KernelExponentialFamily:
    r"""Fit a kernel exponential family robustly, as in the paper's §5.3 (after Barp et al., 2019)

    .. math:: \hat\eta = \arg\min_\eta\; D^2(\eta) + \varrho |\eta|^2,

    with :math:`D^2` the V-statistic of the tilted KSD between the samples and the model at :math:`\eta`.

    Parameters
    ----------
    samples : (n,) or (n, 1) array
        Observations, of any array library; the fit is done on the host in float64, which its system needs.
    kernel : Kernel, optional
        By default the paper's sum of inverse multiquadrics of :math:`\ell^2 = 2\lambda^2`,
        :math:`\lambda^2 = 0.6, 1, 1.2`.
    tilt : Tilt, optional
        The weight; the paper's :math:`(1 + x^2)^{-1/2}` by default. ``None`` is no weight: not robust.
    n_basis : int
        Number of basis functions.
    base_scale : float
        Standard deviation of the Gaussian base.
    ridge : float
        :math:`\varrho`.

    Notes
    -----
    The default ridge belongs to this normalization, :math:`D^2` a mean over the n² pairs. With it the
    standard test rejects as often as in the paper's KEF experiment: with outliers at z = 10, 15, 20, 30 on
    .42, .66, .93 and 1 of 200 splits, against .34, .69, .91 and 1 published. The same number added to sums
    over pairs gives .20, .26, .39 and .67.

    Examples
    --------
    >>> from steinball.models.gaussian import Gaussian
    >>> model = fit_kernel_exponential_family(Gaussian().sample(200, rng=0), n_basis=6)
    >>> model.coefficients.shape
    (6,)
    """
    x = to_host(as_samples(samples))
    if x.shape[1] != 1:
        raise ValueError(f"`samples` must have one column, got {x.shape[1]}; the family is on the line.")
    family = KernelExponentialFamily(np.zeros(check_resamples(n_basis, "n_basis")), base_scale)
    jacobians = family.basis_gradient(x)[:, None, :]
    kernel = _SUM_KERNEL if kernel is None else kernel
    found = minimum_ksd_coefficients(x, family.base_score(x), jacobians, kernel, tilt=tilt, ridge=ridge)
    return family.with_coefficients(found)


def minimum_ksd_coefficients(
    samples: Any,
    base_scores: Any,
    basis_jacobians: Any,
    kernel: Kernel,
    *,
    tilt: Tilt | None = None,
    ridge: float = 0.0,
) -> Floats:
    r"""Coefficients that minimize the KSD of a model whose score is linear in them.

    For :math:`s_\eta(x) = s_0(x) + J(x)\eta` the V-statistic is, up to a constant,
    :math:`\eta^\top A \eta + 2 b^\top \eta`; it plus :math:`\varrho|\eta|^2` is least at
    :math:`\hat\eta = -(A + \varrho I)^{-1} b` with

    .. math:: A = \frac1{n^2} \sum_{ij} w_i w_j \varphi_{ij} J_i^\top J_j, \qquad
       b = \frac1{n^2} \sum_{ij} w_i w_j J_i^\top (\varphi_{ij} s_j - 2 \varphi'_{ij} C (x_i - x_j)),

    where s is the base score plus :math:`\nabla \log w` (paper §5.3; Barp et al., 2019).

    Parameters
    ----------
    samples : (n, d) array
        The observations x.
    base_scores : (n, d) array
        :math:`s_0` at them.
    basis_jacobians : (n, d, L) array
        :math:`J`: derivative of the l-th sufficient statistic in each coordinate.
    kernel : Kernel
        :math:`\varphi`, with its metric C.
    tilt : Tilt, optional
        :math:`w`; 1 by default.
    ridge : float
        :math:`\varrho \ge 0`.

    Returns
    -------
    (L,) array
        The minimizer, as NumPy float64.

    Examples
    --------
    A Gaussian of unknown mean has base score −x and J = 1.

    >>> x = np.array([[0.9], [1.0], [1.1]])
    >>> minimum_ksd_coefficients(x, -x, np.ones((3, 1, 1)), InverseMultiquadric(1.0)).round(12)
    array([1.])
    """
    x, s = to_host(as_samples(samples)), as_numbers(base_scores, "base_scores")
    jacobians = as_numbers(basis_jacobians, "basis_jacobians")
    check_kind(kernel, Kernel, "kernel", "a kernel of `steinball.kernels`")
    _check_shapes(x, s, jacobians)
    check_kind(tilt, (Tilt, type(None)), "tilt", "a tilt of `steinball.tilts` or None")
    with np.errstate(over="ignore", invalid="ignore"):
        quadratic, linear = ScoreDistance.of(x, SteinKernel(kernel, tilt)).expansion(s, jacobians)
    if not (np.isfinite(quadratic).all() and np.isfinite(linear).all()):
        raise OutOfRangeError("the KSD overflows at these `samples` and `base_scores`; rescale them.")
    return -solve_positive(quadratic, linear, as_number(ridge, "ridge", low=0.0))


def _check_shapes(x: Floats, s: Floats, jacobians: Floats) -> None:
    if s.shape != x.shape:
        raise ValueError(f"`base_scores` must have the shape of `samples`, {x.shape}, got {s.shape}.")
    if jacobians.ndim != 3 or jacobians.shape[:2] != x.shape:
        raise ValueError(f"`basis_jacobians` must have shape {(*x.shape, 'L')}, got {jacobians.shape}.")
    if not (np.isfinite(s).all() and np.isfinite(jacobians).all()):
        raise ValueError("`base_scores` and `basis_jacobians` must be finite at every sample.")


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    r"""Natural parameters ν with :math:`(\nu - \hat\nu)^\top A (\nu - \hat\nu) \le` ``room``, if that is not negative.

    ``origin`` is what was taken off the data of a normal family before its natural parameters were formed.

    Examples
    --------
    >>> fit = fit_minimum_ksd("gamma", np.random.default_rng(0).gamma(3.0, size=100))
    >>> region = fit.ellipsoid(0.2)
    >>> region.contains(shape=3.0, scale=1.0), region.contains(shape=30.0, scale=1.0)
    (True, False)
    """

    family: ExponentialFamily
    origin: Floats
    center: Floats
    matrix: Floats
    room: float

    def contains(self, **params: float) -> bool:
        """Whether a member lies in the ellipsoid, by the names of its parameters."""
        values = np.array([params[name] for name in self.family.names])
        apart = self.family.natural(self.family.moved(values, -self.origin)) - self.center
        return bool(apart @ self.matrix @ apart <= self.room)


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

    def ellipsoid(self, distance: float) -> Ellipsoid:
        """The members of an exponential family no further from the data than ``distance`` in D, in closed form.

        With ``distance`` θ + q, the same for every member, these are the members that a test does not reject.
        """
        minimum, family = self._minimum, self._minimum.family
        if not isinstance(family, ExponentialFamily):
            raise TypeError(f"regions are ellipsoids for exponential families, and {family.label} is none. Scan it.")
        least = ksd(minimum.distance.x, self.model, kernel=self.kernel, tilt=self.tilt) ** 2
        room = as_number(distance, "distance", low=0.0) ** 2 - least
        matrix = minimum.curvature / np.outer(minimum.units, minimum.units)
        return Ellipsoid(family, minimum.origin, minimum.coordinates, matrix, room)

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
        axes.set_xlabel("x")
        axes.set_ylabel("influence")
        axes.legend()
        return axes


def fit_minimum_ksd(
    family: Any,
    x: Any,
    kernel: Kernel | None = None,
    tilt: Tilt | str | None = "auto",
    *,
    known_params: Mapping[str, float] | None = None,
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
    known_params : mapping, optional
        Parameters that are not fitted.

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
    found = as_family(family, samples.shape[1], known_params)
    if not isinstance(found, Family):
        raise TypeError(f'`family` must be one whose members are known, such as "normal", got {found.label}.')
    stein = Rows.of(samples, found.model(found.start(samples))).choose(kernel, tilt)
    minimum = minimize_ksd(found, samples, stein)
    errors = np.sqrt(np.sum(minimum.influence(samples) ** 2, axis=0)) / len(samples)
    shown = found.reported(minimum.params, errors)
    params, errors_by_name = ({name: pair[k] for name, pair in shown.items()} for k in (0, 1))
    return MinimumKSDFit(params, errors_by_name, found.model(minimum.params), stein.kernel, stein.tilt, minimum)
