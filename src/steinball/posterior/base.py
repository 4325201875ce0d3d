"""What a posterior of another library is here: parameters on the whole space, and their score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from steinball.arrays import Floats


class Posterior(ABC):
    """A posterior on its unconstrained space, the Jacobian of the transformation included.

    A model of any test: :meth:`score` is ∇log p there, and :meth:`unconstrain` brings draws to it.
    """

    takes_numpy: ClassVar[bool] = True
    parameters: tuple[str, ...]
    """One name for every column of the unconstrained space."""

    @property
    def dimension(self) -> int:
        """d, on the unconstrained space."""
        return len(self.parameters)

    @abstractmethod
    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        """Draws by name, each (chain, draw, ...), as (chain, draw, d)."""

    @abstractmethod
    def score(self, x: Floats, /) -> Floats:
        """∇log p at the rows of ``x`` (n, d)."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.parameters)})"


def check_names(needed: Sequence[str], values: Mapping[str, Floats]) -> None:
    """Every parameter of the model must be among the draws."""
    if missing := [name for name in needed if name not in values]:
        raise ValueError(
            f"`draws` lacks {', '.join(missing)} of the model; it has {', '.join(values)}. The test needs all "
            "parameters that were sampled: keep them when you sample or save."
        )


def over_draws(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """(chain, draw, ...) as (chain · draw, ...), chain behind chain."""
    return {name: value.reshape(-1, *value.shape[2:]) for name, value in values.items()}
