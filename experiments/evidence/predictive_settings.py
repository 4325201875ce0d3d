"""Rows for the evidence on predictive checks: known models, bad rows, every type of y, and three fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import expon, norm, poisson

from steinball.arrays import Floats
from steinball.predictive.law import ClassProbabilities, Distribution, Draws, Observed
from steinball.predictive.pit import Pit

__all__ = [
    "ANY_PLACES", "INDEPENDENT_PLACES", "POWER", "ROBUST", "SHARE", "TRUE_TYPES", "WRONG_TYPES", "bad_rows", "bend",
    "fan", "fixed_x", "huber", "jump", "least_squares", "poisson_fit", "with_ones",
]  # fmt: skip

SHARE = 0.05

Data = Callable[[int, np.random.Generator], tuple[Floats, Floats]]
Typed = Callable[[Floats, np.random.Generator], Pit]


def _uniform(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.uniform(-2.0, 2.0, size=n), rng.normal(size=n)


def bad_rows(place: Callable[[Floats, Floats], tuple[Any, Any]], share: float = SHARE, chosen: bool = False) -> Data:
    """Rows of which a random share is moved to ``place(x, z)``; if ``chosen``, only z is moved, of rows with x > 1."""

    def data(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        x, z = _uniform(n, rng)
        bad = np.flatnonzero(rng.random(n) < share)
        if chosen:
            bad = rng.choice(np.flatnonzero(x > 1.0), size=bad.size, replace=False)
        at_x, at_z = place(x[bad], z[bad])
        x[bad], z[bad] = at_x + 1e-9 * rng.random(bad.size), at_z
        return x, z

    return data


def _wrong(change: Callable[[Floats, Floats], Floats], outliers: bool = False) -> Data:
    """Rows of a wrong model, on request with 5 % of them at 8."""

    def data(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        x, z = _uniform(n, rng)
        z = change(x, z)
        return x, np.where(rng.random(n) < SHARE * outliers, 8.0, z)

    return data


def _skewed(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    x, _ = _uniform(n, rng)
    return x, (rng.gamma(2.0, size=n) - 2.0) / math.sqrt(2.0)


def bend(x: Floats, z: Floats) -> Floats:
    return np.asarray(z + 0.35 * (x**2 - 4.0 / 3.0))


def fan(x: Floats, z: Floats) -> Floats:
    return np.asarray(z * np.exp(0.35 * x))


def jump(x: Floats, z: Floats) -> Floats:
    return np.asarray(z + 0.8 * np.sign(x))


POWER: dict[str, Data] = {
    "model": _uniform,
    "5 % at z = 8": bad_rows(lambda x, z: (x, 8.0)),
    "5 % at x = 1.9, z = 2": bad_rows(lambda x, z: (1.9, 2.0)),
    "mean ±.4 by sign of x": _wrong(lambda x, z: z + 0.4 * np.sign(x)),
    "missed x²": _wrong(bend),
    "missed x², 5 % at 8": _wrong(bend, outliers=True),
    "heteroscedastic": _wrong(fan),
    "skewed": _skewed,
    "sd × 1.35": _wrong(lambda x, z: 1.35 * z),
    "shift 2 where x > 1.2": _wrong(lambda x, z: z + 2.0 * (x > 1.2)),
    "10 % at z = 8": bad_rows(lambda x, z: (x, 8.0), 0.1),
}
ANY_PLACES: dict[str, Data] = {
    "anywhere, z = 8": bad_rows(lambda x, z: (x, 8.0)),
    "anywhere, z = 0": bad_rows(lambda x, z: (x, 0.0)),
    "x = 1.9, z = 2": bad_rows(lambda x, z: (1.9, 2.0)),
    "x = 1.9, z = 8": bad_rows(lambda x, z: (1.9, 8.0)),
    "x = 0, z = −8": bad_rows(lambda x, z: (0.0, -8.0)),
    "both ends": bad_rows(lambda x, z: (1.9 * np.sign(z), 8.0 * np.sign(x))),
    "against the sign of x": bad_rows(lambda x, z: (x, -8.0 * np.sign(x))),
}
INDEPENDENT_PLACES = ("anywhere, z = 8", "anywhere, z = 0", "against the sign of x")  # which rows are bad, not their z
ROBUST: dict[str, Data] = {
    "clean": _uniform,
    "5 % at z = 3": bad_rows(lambda x, z: (x, 3.0)),
    "5 % at z = 8": bad_rows(lambda x, z: (x, 8.0)),
    "5 % at z = 3 where x > 1": bad_rows(lambda x, z: (x, 3.0), chosen=True),
    "missed x², 5 % at 8": _wrong(bend, outliers=True),
    "heteroscedastic, 5 % at 8": _wrong(fan, outliers=True),
    "extreme: 5 % at x = 6, z = 8": bad_rows(lambda x, z: (6.0, 8.0)),
}


@cache
def fixed_x(n: int) -> Floats:
    return np.random.default_rng(n).uniform(-2.0, 2.0, size=n)


_CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


def _ordinal(cuts: Floats, scale: float, ordered: bool) -> Typed:
    def rows(x: Floats, rng: np.random.Generator) -> Pit:
        ends = ndtr(cuts - 0.5 * x[:, None])
        shares = np.diff(np.column_stack([np.zeros(x.size), ends, np.ones(x.size)]), axis=1)
        latent = 0.5 * x + scale * rng.normal(size=x.size)
        return ClassProbabilities(shares, ordered=ordered).pit((latent[:, None] > cuts).sum(axis=1))

    return rows


def _counts(change: Callable[[Floats, np.random.Generator], Floats]) -> Typed:
    def rows(x: Floats, rng: np.random.Generator) -> Pit:
        rate = np.exp(1.0 + 0.3 * x)
        return Distribution(poisson(rate)).pit(rng.poisson(rate * change(x, rng)))

    return rows


def _logistic(change: Callable[[Floats], Floats]) -> Typed:
    return lambda x, rng: ClassProbabilities(np.column_stack([1.0 - expit(0.8 * x), expit(0.8 * x)])).pit(
        (rng.random(x.size) < expit(change(x))).astype(int)
    )


def _censored(shape: float) -> Typed:
    def rows(x: Floats, rng: np.random.Generator) -> Pit:
        scale = np.exp(-0.4 * x)
        limits = 1.17 * scale  # 31 % of an exponential law lie beyond
        y = np.minimum(scale * rng.weibull(shape, size=x.size), limits)
        return Distribution(expon(scale=scale)).pit(y, Observed(limits))

    return rows


def _rounded(scale: float) -> Typed:
    return lambda x, rng: Distribution(norm(x, 1.0)).pit(
        np.round(2.0 * (x + scale * rng.normal(size=x.size))) / 2.0, Observed(step=0.5)
    )


def _ranked(scale: float, size: int) -> Typed:
    def rows(x: Floats, rng: np.random.Generator) -> Pit:
        y = x + scale * rng.normal(size=x.size)
        return Draws(x[:, None] + rng.normal(size=(x.size, size))).pit(y, rng=rng)

    return rows


TRUE_TYPES: dict[str, Typed] = {
    "Poisson": _counts(lambda x, rng: np.ones(x.size)),
    "logistic": _logistic(lambda x: 0.8 * x),
    "ordinal": _ordinal(_CUTS, 1.0, True),
    "nominal": _ordinal(_CUTS[1:3], 1.0, False),
    "exponential, 31 % censored": _censored(1.0),
    "rounded to half an sd": _rounded(1.0),
    "19 draws": _ranked(1.0, 19),
    "99 draws": _ranked(1.0, 99),
}
WRONG_TYPES: dict[str, Typed] = {
    "Poisson: negative binomial": _counts(lambda x, rng: rng.gamma(3.0, size=x.size) / 3.0),
    "Poisson: 12 % zeros": _counts(lambda x, rng: (rng.random(x.size) >= 0.12).astype(float)),
    "Poisson: 20 % zeros": _counts(lambda x, rng: (rng.random(x.size) >= 0.20).astype(float)),
    "Poisson: missed curve": _counts(lambda x, rng: np.exp(0.15 * (x**2 - 4.0 / 3.0))),
    "logistic: slope × 2": _logistic(lambda x: 1.6 * x),
    "logistic: missed x²": _logistic(lambda x: 0.8 * x + 0.6 * (x**2 - 4.0 / 3.0)),
    "ordinal: scale × 2": _ordinal(_CUTS, 2.0, True),
    "nominal: scale × 1.6": _ordinal(_CUTS[1:3], 1.6, False),
    "exponential, 31 % censored: Weibull 1.5": _censored(1.5),
    "rounded to half an sd: sd × 1.4": _rounded(1.4),
    "99 draws: sd × 1.4": _ranked(1.4, 99),
}


def with_ones(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def least_squares(x: Floats) -> Callable[[Floats], tuple[Floats, float]]:
    """A function from y to the fitted line and the residuals' standard deviation."""
    basis = np.linalg.qr(with_ones(x))[0]

    def fit(y: Floats) -> tuple[Floats, float]:
        mean = basis @ (basis.T @ y)
        return mean, math.sqrt(float(((y - mean) ** 2).sum()) / (y.size - basis.shape[1]))

    return fit


def poisson_fit(design: Floats, y: Floats) -> Floats:
    """Fitted rates, by Newton's method."""
    beta = np.array([math.log(y.mean() + 0.01), *np.zeros(design.shape[1] - 1)])
    for _ in range(25):
        rate = np.exp(design @ beta)
        step = np.linalg.solve(design.T @ (rate[:, None] * design), design.T @ (y - rate))
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(np.exp(design @ beta))


def huber(design: Floats, y: Floats) -> tuple[Floats, float]:
    """Fitted values of Huber's regression, and the median absolute deviation as scale."""
    beta = np.linalg.lstsq(design, y, rcond=None)[0]
    for _ in range(60):
        residuals = y - design @ beta
        scale = np.median(np.abs(residuals)) / 0.6745
        weight = np.minimum(1.0, 1.345 * scale / np.maximum(np.abs(residuals), 1e-12))[:, None]
        new = np.linalg.solve((weight * design).T @ design, (weight * design).T @ y)
        beta, moved = new, np.abs(new - beta).max()
        if moved < 1e-9:
            break
    return design @ beta, float(np.median(np.abs(y - design @ beta))) / 0.6745
