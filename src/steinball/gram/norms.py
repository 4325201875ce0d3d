"""Lengths of sums of features over samples of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinball.arrays import Floats

__all__ = ["PrefixNorms"]


@dataclass(frozen=True, eq=False)
class PrefixNorms:
    r"""Of M samples of n points of the model: the lengths of their partial sums, and a random number for each.

    .. math:: \text{norms}_{jm} = \Big| \sum_{i \le m} \varphi(Y_{ji}) \Big|, \qquad m = 0, \dots, n.

    Parameters
    ----------
    norms : (M, n + 1) array
        One row per sample: M·n numbers of 8 bytes.
    uniforms : (M,) array
        Uniform on [0, 1), independent of the samples: how many points of each are taken for contaminated.

    Examples
    --------
    >>> norms = PrefixNorms(np.array([[0.0, 1.0, 1.5]]), np.array([0.3]))
    >>> PrefixNorms.joined([norms, norms]).norms.shape
    (2, 3)
    """

    norms: Floats
    uniforms: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.norms).all():
            raise FloatingPointError(
                "sums of the Stein kernel over draws of the model overflow: rescale the model and `samples`, use "
                "float64, or use a tilt."
            )

    @classmethod
    def joined(cls, parts: Sequence[PrefixNorms]) -> PrefixNorms:
        """Several of them, one below the other."""
        return cls(np.concatenate([part.norms for part in parts]), np.concatenate([part.uniforms for part in parts]))
