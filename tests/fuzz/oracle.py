"""What the answer should be: the Stein kernel of all pairs, dense, in float64, from its formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import steinball as sb
from steinball.arrays import to_host
from steinball.calibration import WeightedBootstrap
from tests.fuzz.values import Floats

_ROUNDING = {"float64": 1e-8, "float32": 1e-3}


def stein_matrix(x: Floats, scores: Floats, kernel: Any, tilt: Any) -> Floats | None:
    """u(xᵢ, xⱼ), or ``None`` for kernels and tilts whose formulas are not here."""
    derivatives = _derivatives(kernel)
    weighted = _tilted(x, scores, tilt)
    if derivatives is None or weighted is None:
        return None
    w, s = weighted
    apart = x[:, None, :] - x[None, :, :]
    r2 = (apart**2).sum(axis=2)
    f, f1, f2r = derivatives(r2)
    cross = (apart * (s[None, :, :] - s[:, None, :])).sum(axis=2)
    u = f * (s @ s.T) + 2.0 * f1 * cross - 4.0 * f2r - 2.0 * x.shape[1] * f1
    return np.asarray(w[:, None] * w[None, :] * u)


def _derivatives(kernel: Any) -> Any:
    """φ, φ′ and r²φ″ in r²."""
    if getattr(kernel, "metric", 1) is not None:
        return None
    if type(kernel) is sb.InverseMultiquadric:
        b, a = kernel.exponent, kernel.lengthscale**-2
        return lambda r2: (
            (1 + a * r2) ** -b,
            -b * a * (1 + a * r2) ** (-b - 1),
            b * (b + 1) * a * (a * r2) * (1 + a * r2) ** (-b - 2),
        )
    if type(kernel) is sb.kernels.Gaussian:
        a = 0.5 * kernel.lengthscale**-2
        return lambda r2: (np.exp(-a * r2), -a * np.exp(-a * r2), a * (a * r2) * np.exp(-a * r2))
    return None


def _tilted(x: Floats, scores: Floats, tilt: Any) -> tuple[Floats, Floats] | None:
    """w and s + ∇log w."""
    if tilt is None:
        return np.ones(len(x)), scores
    if type(tilt) is not sb.PolynomialTilt:
        return None
    offset = x - np.asarray(tilt.center)
    curved = offset / tilt.scale**2 if tilt.precision is None else offset @ tilt.precision
    q = (offset * curved).sum(axis=1)
    b = tilt.exponent
    return (1.0 + q) ** -b, scores - 2.0 * b * curved / (1.0 + q)[:, None]


def check_gof(result: Any, x: Floats, scores: Floats, dtype: str) -> str | None:
    """What is wrong with a result of ``ksd_test`` for these data, or ``None``."""
    problem = result._evidence.problem
    if problem.rows.moves:  # tested in standardized coordinates, or in base space
        x, scores = problem.host_samples, to_host(problem.scores)
    with np.errstate(all="ignore"):
        u = stein_matrix(x, scores, result.kernel, result.tilt)
    if u is None or not np.isfinite(u).all() or not np.isfinite(np.abs(u).sum()):
        return None
    n = len(x)
    mean = u.mean() if result.estimator == "v" else (u.sum() - np.trace(u)) / (n * (n - 1))
    slack = _ROUNDING[dtype] * float(np.abs(u).mean())
    if abs(result.squared_ksd - mean) > slack + 1e-300:
        return f"D² = {result.squared_ksd!r}, but the sum over all pairs is {mean!r}"
    return _check_draws(result, u, slack) or check_decision(result)


def _check_draws(result: Any, u: Floats, slack: float) -> str | None:
    """The draws of the paper's bootstrap, from the same weights."""
    evidence: Any = result._evidence
    calibration = evidence.calibration
    if type(calibration) is not WeightedBootstrap or result.estimator != "v":
        return None
    n = len(u)
    rows = np.concatenate(list(calibration.request(n, evidence.seed).weights)).astype(float)
    squares = np.maximum(((rows @ u) * rows).sum(axis=1) / n**2, 0.0)
    off = np.abs(np.asarray(result.draws) ** 2 - squares).max()
    return f"a draw of D² is off by {off!r}" if off > 10.0 * slack * max(1.0, float((rows**2).max())) else None


def check_decision(result: Any) -> str | None:
    """What every result must satisfy."""
    if math.isnan(result.pvalue) or not 0.0 <= result.pvalue <= 1.0:
        return f"the p-value is {result.pvalue!r}"
    if math.isnan(result.statistic) or math.isnan(result.threshold):
        return f"the statistic is {result.statistic!r}, the threshold {result.threshold!r}"
    if result.rejected and not result.pvalue <= result.level:
        return "rejected against its own p-value"
    result.summary()
    result.to_dict()
    return None
