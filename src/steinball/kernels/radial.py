"""The radial kernels: inverse multiquadric, Gaussian, Matérn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steinball.arrays import Array, as_number, namespace
from steinball.kernels.base import Kernel, Profile, as_metric

_LEAST_LENGTH = 1e-150


def _set_parameters(kernel: Any, **least: float) -> None:
    """Validate positive parameters and the metric of a frozen kernel in place."""
    for name, low in least.items():
        object.__setattr__(kernel, name, as_number(getattr(kernel, name), name, low=low, open_low=True))
    if not _LEAST_LENGTH <= kernel.lengthscale <= 1.0 / _LEAST_LENGTH:
        raise ValueError(
            f"`lengthscale` must lie between {_LEAST_LENGTH:g} and {1.0 / _LEAST_LENGTH:g}, where its square and the "
            f"inverse of that are floats, got {kernel.lengthscale!r}. Rescale the samples."
        )
    object.__setattr__(kernel, "metric", as_metric(kernel.metric))


@dataclass(frozen=True, eq=False)
class InverseMultiquadric(Kernel):
    r"""The inverse multiquadric kernel (IMQ; paper §2.1)

    .. math:: h(x, y) = (1 + r^2 / \ell^2)^{-b}.

    Parameters
    ----------
    lengthscale : float
        :math:`\ell > 0`. The paper's :math:`\lambda` under the median heuristic; where the paper gives a number
        :math:`\lambda^2`, its published curves have :math:`\ell^2 = 2 \lambda^2`.
    exponent : float
        :math:`b > 0`.
    metric : (d, d) array, optional
        :math:`C` in :math:`r^2 = (x - y)^\top C (x - y)`; the identity by default.

    Examples
    --------
    >>> import numpy as np
    >>> float(InverseMultiquadric(2.0)(np.array([[0.0]]), np.array([[2.0]]))[0, 0].round(6))
    0.707107
    """

    lengthscale: float
    exponent: float = 0.5
    metric: Any = None

    def __post_init__(self) -> None:
        _set_parameters(self, lengthscale=0.0, exponent=0.0)

    def profile(self, r2: Array) -> Profile:
        xp, b, scale = namespace(r2), self.exponent, self.lengthscale**-2
        inverse = r2 * scale
        inverse += 1.0
        inverse = 1.0 / inverse
        value = xp.sqrt(inverse) if b == 0.5 else inverse**b
        slope = value * inverse
        slope *= -b * scale
        curvature = 1.0 - inverse  # r² φ″ = (b + 1) (1 − inverse) (−φ′): no overflow for large r²
        curvature *= slope
        curvature *= -(b + 1.0)
        return value, slope, curvature

    def combine(self, r2: Array, inner: Array, cross: Array, stretch: Array | None = None) -> Array:
        """The Stein kernel of pairs, φ (inner + ψ (4b(b+1)α (ψ − 1) − bα cross)), α = ℓ⁻² and ψ = 1/(1 + αr²)."""
        if stretch is not None:
            return super().combine(r2, inner, cross, stretch)
        xp, b, scale = namespace(r2), self.exponent, self.lengthscale**-2
        r2 *= scale
        r2 += 1.0
        inverse = 1.0 / r2
        cross *= -b * scale
        cross += (-4.0 * b * (b + 1.0) * scale) * (1.0 - inverse)
        cross *= inverse
        cross += inner
        cross *= xp.sqrt(inverse) if b == 0.5 else inverse**b
        return cross


@dataclass(frozen=True, eq=False)
class Gaussian(Kernel):
    r"""The Gaussian (squared-exponential) kernel (paper §2.1)

    .. math:: h(x, y) = \exp(-r^2 / (2 \ell^2)).

    Parameters
    ----------
    lengthscale : float
        :math:`\ell > 0`.
    metric : (d, d) array, optional
        :math:`C` in :math:`r^2 = (x - y)^\top C (x - y)`.

    Examples
    --------
    >>> import numpy as np
    >>> float(Gaussian(1.0)(np.array([[0.0]]), np.array([[1.0]]))[0, 0].round(6))
    0.606531
    """

    lengthscale: float
    metric: Any = None

    def __post_init__(self) -> None:
        _set_parameters(self, lengthscale=0.0)

    def profile(self, r2: Array) -> Profile:
        xp, rate = namespace(r2), 0.5 * self.lengthscale**-2
        value = xp.exp(-rate * r2)
        slope = -rate * value
        return value, slope, (rate * r2) * (rate * value)


_MATERN_SMOOTHNESS = (1.5, 2.5, 3.5)


@dataclass(frozen=True, eq=False)
class Matern(Kernel):
    r"""The Matérn kernel of smoothness :math:`\nu \in \{3/2, 5/2, 7/2\}`: with :math:`t = \sqrt{2\nu}\, r / \ell`,

    .. math:: (1 + t) e^{-t}, \qquad (1 + t + t^2/3) e^{-t}, \qquad (1 + t + 2t^2/5 + t^3/15) e^{-t}.

    Parameters
    ----------
    lengthscale : float
        :math:`\ell > 0`.
    smoothness : {1.5, 2.5, 3.5}
        :math:`\nu`. Below 3/2 the Stein kernel does not exist.
    metric : (d, d) array, optional
        :math:`C` in :math:`r^2 = (x - y)^\top C (x - y)`.

    Examples
    --------
    >>> import numpy as np
    >>> float(Matern(1.0, 1.5)(np.array([[0.0]]), np.array([[1.0]]))[0, 0].round(6))
    0.483358
    """

    lengthscale: float
    smoothness: float = 2.5
    metric: Any = None

    def __post_init__(self) -> None:
        _set_parameters(self, lengthscale=0.0)
        if self.smoothness not in _MATERN_SMOOTHNESS:
            raise ValueError(f"`smoothness` must be one of 1.5, 2.5, 3.5, got {self.smoothness!r}.")

    def profile(self, r2: Array) -> Profile:
        xp, a2 = namespace(r2), 2.0 * self.smoothness * self.lengthscale**-2
        t2 = a2 * r2
        t = xp.sqrt(t2)
        decay = xp.exp(-t)
        # With φ a function of t, dφ/dr² = (a²/2t) dφ/dt.
        if self.smoothness == 1.5:
            return (1.0 + t) * decay, (-a2 / 2.0) * decay, (a2 / 4.0) * t * decay
        if self.smoothness == 2.5:
            return (1.0 + t + t2 / 3.0) * decay, (-a2 / 6.0) * (1.0 + t) * decay, (a2 / 12.0) * t2 * decay
        flat = t2 * decay  # t³ alone would overflow long before r² does
        value = (1.0 + t) * decay + (0.4 + t / 15.0) * flat
        return value, (-a2 / 30.0) * (3.0 + 3.0 * t + t2) * decay, (a2 / 60.0) * (1.0 + t) * flat
