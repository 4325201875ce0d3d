"""A kernel of the library as source of Triton: whatever it computes for a pair of points, line by line."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from steinball.arrays import Array
from steinball.kernels.base import Kernel


def is_available(samples: Array) -> bool:
    """Whether Triton is installed, and the GPU of ``samples`` (a torch tensor on CUDA) has matrix units for TF32."""
    import torch

    ours = find_spec("triton") is not None and torch.version.cuda is not None
    return ours and torch.cuda.get_device_capability(samples.device) >= (8, 0)


class Traced:
    """A number of one pair of points, as the name of a variable in ``lines`` of Triton that compute it.

    Kernels are written for any array library; this is one whose arrays are lines of source.

    Examples
    --------
    >>> lines = []
    >>> r2 = Traced("r2", lines)
    >>> namespace = r2.__array_namespace__()
    >>> (2.0 * namespace.exp(-r2)).name, lines
    ('v2', ['v0 = -r2', 'v1 = tl.exp(v0)', 'v2 = v1 * 2.0'])
    """

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name, self.lines = name, lines

    def __repr__(self) -> str:
        return self.name

    def __array_namespace__(self, api_version: str | None = None) -> type[Functions]:
        return Functions

    def _new(self, source: str) -> Traced:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {source}")
        return Traced(name, self.lines)

    def __add__(self, other: Any) -> Traced:
        return self._new(f"{self} + {other}")

    def __mul__(self, other: Any) -> Traced:
        return self._new(f"{self} * {other}")

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Traced:
        return self._new(f"{self} - {other}")

    def __rsub__(self, other: Any) -> Traced:
        return self._new(f"{other} - {self}")

    def __truediv__(self, other: Any) -> Traced:
        return self._new(f"{self} / {other}")

    def __rtruediv__(self, other: Any) -> Traced:
        return self._new(f"{other} / {self}")

    def __neg__(self) -> Traced:
        return self._new(f"-{self}")

    def __pow__(self, power: float) -> Traced:
        return self._new(f"tl.exp2({power} * tl.log2({self}))")


class Functions:
    """The functions of the array API that kernels are made of."""

    @staticmethod
    def sqrt(x: Traced) -> Traced:
        return x._new(f"tl.sqrt({x})")

    @staticmethod
    def exp(x: Traced) -> Traced:
        return x._new(f"tl.exp({x})")


def combine_source(kernel: Kernel) -> str | None:
    """:meth:`Kernel.combine` as a function of Triton; ``None`` where the kernel does more than :class:`Traced` knows.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> print(combine_source(Gaussian(1.0)).splitlines()[1])
        v0 = r2 * -0.5
    """
    lines: list[str] = []
    r2, inner, cross, stretch = (Traced(name, lines) for name in ("r2", "inner", "cross", "stretch"))
    try:
        found = kernel.combine(r2, inner, cross, None if kernel.metric is None else stretch)
    except (AttributeError, TypeError, ValueError):
        return None
    return "\n    ".join(["def combine(r2, inner, cross, stretch):", *lines, f"return {found}"]) + "\n"
