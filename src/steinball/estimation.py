"""Robust minimum-KSD estimation, in closed form for scores that are linear in the parameter."""

from __future__ import annotations

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
from steinball.kernels import InverseMultiquadric, Kernel
from steinball.kernels.distance import squared_distances
from steinball.models.kernel_exponential import KernelExponentialFamily
from steinball.tilts import PolynomialTilt, Tilt

__all__ = ["fit_kernel_exponential_family", "minimum_ksd_coefficients"]


_PAIRS_AT_ONCE = 2**22  # entries of the kernel matrix held at once: 32 MB

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
    return family.with_coefficients(
        minimum_ksd_coefficients(x, family.base_score(x), jacobians, kernel, tilt=tilt, ridge=ridge)
    )


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
    weights = np.ones(len(x))
    if tilt is not None:
        check_kind(tilt, Tilt, "tilt", "a tilt of `steinball.tilts` or None")
        if tilt.coordinate_weights(x) is not None:
            raise TypeError(f"`tilt` must weigh all coordinates alike, got {tilt!r}; use a PolynomialTilt.")
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.exp(to_host(tilt.log_weight(x)))
            s = s + to_host(tilt.log_weight_gradient(x))
    with np.errstate(over="ignore", invalid="ignore"):
        quadratic, linear = _quadratic_form(x, s, jacobians, weights, kernel)
    if not (np.isfinite(quadratic).all() and np.isfinite(linear).all()):
        raise OutOfRangeError("the KSD overflows at these `samples` and `base_scores`; rescale them.")
    return _solve(quadratic, linear, as_number(ridge, "ridge", low=0.0))


def _check_shapes(x: Floats, s: Floats, jacobians: Floats) -> None:
    if s.shape != x.shape:
        raise ValueError(f"`base_scores` must have the shape of `samples`, {x.shape}, got {s.shape}.")
    if jacobians.ndim != 3 or jacobians.shape[:2] != x.shape:
        raise ValueError(f"`basis_jacobians` must have shape {(*x.shape, 'L')}, got {jacobians.shape}.")
    if not (np.isfinite(s).all() and np.isfinite(jacobians).all()):
        raise ValueError("`base_scores` and `basis_jacobians` must be finite at every sample.")


def _quadratic_form(x: Floats, s: Floats, jacobians: Floats, weights: Floats, kernel: Kernel) -> tuple[Floats, Floats]:
    """A and b of :func:`minimum_ksd_coefficients`, over blocks of rows of the kernel matrix."""
    n, d, size = jacobians.shape
    flat = jacobians.reshape(n, d * size)
    quadratic, linear = np.zeros((size, size)), np.zeros(size)
    step = max(1, _PAIRS_AT_ONCE // n)
    for rows in (slice(start, start + step) for start in range(0, n, step)):
        value, slope, _ = kernel.profile(squared_distances(x[rows], x, kernel.metric))
        pair_weights = weights[rows, None] * weights
        value, slope = pair_weights * value, pair_weights * slope
        left = jacobians[rows].reshape(-1, size)  # (m·d, L)
        quadratic += left.T @ (value @ flat).reshape(-1, size)
        linear += left.T @ (value @ s - 2.0 * _pull(slope, x[rows], x, kernel.metric)).reshape(-1)
    return quadratic / n**2, linear / n**2


def _pull(slope: Floats, rows: Floats, x: Floats, metric: Floats | None) -> Floats:
    """Σⱼ φ′ᵢⱼ C (xᵢ − xⱼ), shape (m, d); differences first, so that an offset of the data cancels exactly."""
    columns = [np.sum(slope * (rows[:, k, None] - x[:, k]), axis=1) for k in range(x.shape[1])]
    pull = np.stack(columns, axis=1)
    return pull if metric is None else np.asarray(pull @ metric)


def _solve(quadratic: Floats, linear: Floats, ridge: float) -> Floats:
    values, vectors = np.linalg.eigh(quadratic)  # positive semi-definite, up to rounding
    values = values + ridge
    if values[0] <= len(values) * np.finfo(np.float64).eps * values[-1]:
        raise ValueError(
            f"the minimum is not unique: A has rank below {len(values)} with `ridge={ridge:g}`. "
            "Use fewer basis functions, more samples or a larger `ridge`."
        )
    return np.asarray(-vectors @ ((vectors.T @ linear) / values))
