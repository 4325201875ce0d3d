"""A function that is no score, although its shape is right: in one dimension a log density has the same."""

from __future__ import annotations

import math

import numpy as np

from steinball.arrays import Array, to_host
from steinball.cautions import LogDensityWarning, caution
from steinball.models.base import Model, ScoreFunction

__all__ = ["warn_if_log_density"]

_LEAST_ROWS = 50


def warn_if_log_density(model: Model, samples: Array, scores: Array) -> None:
    """Ask whether a bare function on the line is a log density.

    A score that is negative at every sample belongs to a density that falls over all of them, which then has at least a
    quarter of its mass in the left quarter of their range. A log density is negative too, has a hump in the middle, and
    fewer points on its left: the question is asked where they are two standard errors below a quarter.
    """
    if isinstance(model, ScoreFunction) and samples.shape[1] == 1 and samples.shape[0] >= _LEAST_ROWS:
        x, s = to_host(samples)[:, 0], to_host(scores)[:, 0]
        if (s < 0.0).all() and _has_a_hump(x, s) and _left_share(x) < 0.25 - 2.0 * math.sqrt(0.1875 / len(x)):
            caution(
                LogDensityWarning,
                "`model` is negative at every sample and largest in their middle. As a score ∇log p that would be a "
                "density which falls everywhere, and these points do not look like it; a log density looks like this.",
                "If it is one, use `sb.from_log_density(f, backend=...)`.",
            )


def _has_a_hump(x: np.ndarray, s: np.ndarray) -> bool:
    """Whether both outer tenths lie below the middle."""
    low, high = np.quantile(x, (0.1, 0.9))
    inner = np.median(s[(x > low) & (x < high)]) if ((x > low) & (x < high)).any() else -np.inf
    return bool(max(np.median(s[x <= low]), np.median(s[x >= high])) < inner)


def _left_share(x: np.ndarray) -> float:
    """The share of points in the left quarter of the range of most of them."""
    low, high = np.quantile(x, (0.01, 0.99))
    return float(np.mean(x <= low + 0.25 * (high - low)))
