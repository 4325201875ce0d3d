"""Whether u(x, x) visibly grows without bound, and the warning that says so."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from steinball.arrays import to_host
from steinball.cautions import UnboundedSteinKernelWarning, caution
from steinball.features.regions import Cloud
from steinball.stein import SteinProblem

__all__ = ["grows", "warn_if_unbounded"]

_GROWTH: WeakKeyDictionary[SteinProblem, bool] = WeakKeyDictionary()


def warn_if_unbounded(problem: SteinProblem, what: str) -> None:
    """Warn when u(x, x) visibly grows without bound, since ``what`` is then meaningless.

    With a score function, u(x, x) is compared at 10⁴ and 10⁶ times the distance of the farthest sample. With a
    bare array of scores, an untilted kernel whose scores still grow like |x|^½ or faster among the outermost
    samples is taken to be growing.
    """
    if not grows(problem):
        return
    remedy = (
        "Use a tilt: `tilt=PolynomialTilt()` or `tilt='auto'`"
        if problem.stein.tilt is None
        else "Use a tilt of larger exponent (b ≥ r/2 for a score that grows like |x|^r)"
    )
    caution(
        UnboundedSteinKernelWarning,
        f"{what} needs a bounded Stein kernel, but u(x, x) grows without limit for this model and kernel, so a few far "
        "outliers can exceed any radius.",
        f"{remedy}, or state a radius on the KSD scale: `radius=0.1`.",
    )


def grows(problem: SteinProblem) -> bool:
    """Whether u(x, x) grows without bound, found out once for every problem."""
    if problem not in _GROWTH:
        _GROWTH[problem] = _grows_along_rays(problem) if problem.evaluable else _grows_in_sample(problem)
    return _GROWTH[problem]


def _grows_along_rays(problem: SteinProblem) -> bool:
    cloud = Cloud.of(problem.host_samples)
    try:
        # Beyond every sample: an outlier at 10⁸ must not hide that u grows.
        values = problem.diagonal_at(np.vstack([cloud.rays(length * cloud.reach) for length in (1e4, 1e6)]))
        near, far = (float(part[np.isfinite(part)].max(initial=0.0)) for part in np.split(values, 2))
    except Exception:  # the user's score need not be defined so far out: then nothing is known
        return False
    return far > 3.0 * max(near, float(to_host(problem.diagonal).max()))


def _grows_in_sample(problem: SteinProblem) -> bool:
    if problem.stein.tilt is not None:
        return False
    x, size = problem.host_samples, np.linalg.norm(to_host(problem.scores), axis=1)
    distance = np.linalg.norm(x - np.median(x, axis=0), axis=1)
    order, few = np.argsort(distance), max(1, len(x) // 20)
    outer, shell = order[-few:], order[-max(2, len(x) // 4) : -few]
    far, near = np.median(distance[outer]), np.median(distance[shell])
    large, small = np.median(size[outer]), np.median(size[shell])
    return bool(far > near > 0.0 and large > small * math.sqrt(far / near))
