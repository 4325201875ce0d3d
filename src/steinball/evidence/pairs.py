"""What one kernel says of every point: the sums that explanations are made from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.gram.base import GramSummary
from steinball.problem import Problem


@dataclass(frozen=True, eq=False)
class PairSums:
    """The sums over pairs under one kernel, and what D had to exceed.

    Attributes
    ----------
    problem : Problem
        Samples, model, kernel and tilt; without the points that the model excludes.
    row_means, diagonal : (n,) arrays
        (1/n) Σⱼ u(xᵢ, xⱼ) and u(xᵢ, xᵢ) of all points, on the host.
    critical : float
        What D had to exceed for a rejection under this kernel; infinite where no D rejects, NaN where it is not known.
    radius, tau : float
        θ, and the supremum of u(x, x) that was used; NaN where none was.
    estimator : {"v", "u"}
        V-statistic or U-statistic.
    bounded : str
        What is known of sup u(x, x) < ∞.
    """

    problem: Problem
    row_means: Floats
    diagonal: Floats
    critical: float
    radius: float = 0.0
    tau: float = math.nan
    estimator: str = "v"
    bounded: str = "apparent"

    def __len__(self) -> int:
        return int(self.row_means.size)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Places of the points that are in ``problem``."""
        return self.problem.rows.kept

    @property
    def contributions(self) -> Floats:
        """What each point adds to D²."""
        n = len(self)
        if self.estimator == "v":
            return self.row_means / n
        return np.asarray((n * self.row_means - self.diagonal) / (n * (n - 1)))

    @property
    def ksd(self) -> float:
        """D."""
        return math.sqrt(max(0.0, float(self.contributions.sum())))

    @property
    def length(self) -> float:
        """The norm of the mean embedding: D of the V-statistic."""
        return math.sqrt(max(0.0, float(self.row_means.mean())))


def host_sums(summary: GramSummary) -> tuple[Floats, Floats]:
    """Row means and diagonal on the host."""
    return to_host(summary.row_means), to_host(summary.diagonal)
