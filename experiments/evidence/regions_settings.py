"""Models and data of the evidence for regions: what is true, what is tolerated on the edge, and what must be found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.framework.base import Cell
from steinball.regions.counted import Null, affordable_draws, simulate
from steinball.regions.design import Design
from steinball.regions.source import Source, find_grid, from_probabilities, from_sampler, from_second_sample

__all__ = ["BAD", "CHANGED", "GOOD_ENOUGH", "SHARES", "design_of", "normal", "null_of", "sample", "source_of"]

Floats = NDArray[np.float64]
Rng = np.random.Generator

SHARES = [0.4, 0.3, 0.2, 0.08, 0.02]
_MIXTURE = (np.array([0.6, 0.4]), np.array([-2.0, 1.5]), np.array([1.0, 0.5]))


def normal(d: int) -> Source:
    """N(0, I): by its distribution function in one column, otherwise by its draws."""
    if d == 1:
        return Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf)
    return from_sampler(lambda n, rng: rng.normal(size=(n, d)), d, np.zeros(d), np.eye(d))


def _mixture_cdf(x: Floats) -> Floats:
    weights, means, scales = _MIXTURE
    return np.asarray((weights * stats.norm.cdf((x[..., None] - means) / scales)).sum(axis=-1))


def _mixture_draws(n: int, rng: Rng) -> Floats:
    weights, means, scales = _MIXTURE
    which = rng.choice(2, size=n, p=weights)
    return np.asarray(means[which] + scales[which] * rng.normal(size=n))[:, None]


def _columns(n: int, rng: Rng) -> Floats:
    return np.asarray(rng.normal(size=(n, 3)) * [1.0, 10.0, 100.0])


def source_of(kind: str, d: int) -> Source:
    """The model of a kind of data: normal, unless its first word says another one."""
    name, _, step = kind.partition(" ")
    if name == "poisson":
        return Source(cdf=stats.poisson(3).cdf, quantile=stats.poisson(3).ppf, discrete=True)
    if name == "gennorm":
        return Source(cdf=stats.gennorm(8).cdf, quantile=stats.gennorm(8).ppf)
    if name == "three":
        return from_sampler(_columns, 3, np.zeros(3), np.diag([1.0, 100.0, 10000.0]))
    if name == "grid":
        rows = float(step) * np.round(np.random.default_rng(0).normal(size=(500, d)) / float(step))
        return replace(normal(d), grid=find_grid(rows))
    return {"categories": from_probabilities(SHARES), "mixture": Source(cdf=_mixture_cdf)}.get(name, normal(d))


@cache
def design_of(kind: str, d: int, n: int) -> Design:
    """The design of a model, kept for all repeats."""
    return Design.build(source_of(kind, d), n)


@cache
def null_of(kind: str, d: int, n: int, share: float, draws: int = 1999) -> Null | None:
    """The null of a model at a share, kept likewise; ``None`` where theorem B is cheaper."""
    design = design_of(kind, d, n)
    found = affordable_draws(design, draws)
    return simulate(design, share, found) if found else None


BAD: dict[str, Callable[[int, int, Rng], Floats]] = {
    "far": lambda k, d, rng: np.full((k, d), 50.0),
    "near": lambda k, d, rng: 1.0 + 0.3 * rng.normal(size=(k, d)),
    "cluster": lambda k, d, rng: np.full((k, d), 1.109),
    "wide": lambda k, d, rng: 100.0 * rng.normal(size=(k, d)),
    "vast": lambda k, d, rng: 1e6 * rng.normal(size=(k, d)),
    "uniform": lambda k, d, rng: rng.uniform(-1e4, 1e4, size=(k, d)),
}
"""Bad rows that replace a share of the others."""


def _contaminated(cell: Cell, rng: Rng, kind: str) -> Floats:
    x = rng.normal(size=(cell["n"], cell["dimension"]))
    struck = rng.random(cell["n"]) < cell["contamination"]
    x[struck] = BAD[kind](int(struck.sum()), cell["dimension"], rng)
    return x


def _taken(cell: Cell, rng: Rng) -> Floats:
    """The upper share of the first column is missing: Q(A) = P(A) − ε there, and more elsewhere."""
    x = rng.normal(size=(cell["n"], cell["dimension"]))
    x[:, 0] = stats.norm.ppf((1.0 - cell["contamination"]) * rng.random(cell["n"]))
    return x


def _moved(cell: Cell, rng: Rng) -> Floats:
    """As many rows of the upper tail as are tolerated are moved to the middle, by somebody who has seen all rows."""
    x = rng.normal(size=(cell["n"], cell["dimension"]))
    k = math.floor(cell["contamination"] * cell["n"] + 1e-9)
    x[np.argsort(x[:, 0])[cell["n"] - k :], 0] = 0.0
    return x


CHANGED = {"taken": _taken, "moved": _moved}


def _wiggle(n: int, rng: Rng) -> Floats:
    """φ(x)(1 + 0.9 sin 8x), by rejection."""
    x = rng.normal(size=8 * n)
    return np.asarray(x[1.9 * rng.random(8 * n) < 1.0 + 0.9 * np.sin(8.0 * x)][:n])


def _unit(d: int, rng: Rng) -> Floats:
    u = rng.normal(size=d)
    return np.asarray(u / np.linalg.norm(u))


def _pairs(x: Floats, pairs: int, correlation: float) -> Floats:
    for j in range(0, 2 * pairs, 2):
        x[:, j + 1] = correlation * x[:, j] + math.sqrt(1.0 - correlation**2) * x[:, j + 1]
    return x


def _shifted(x: Floats, shift: float) -> Floats:
    x[:, 0] += shift
    return x


def _widened(x: Floats, directions: Floats, variance: float, rng: Rng) -> Floats:
    """More variance in orthonormal directions (k, d)."""
    more = rng.normal(size=(len(x), len(directions))) * math.sqrt(variance - 1.0)
    return np.asarray(x + more @ directions)


def _third(x: Floats, rng: Rng) -> Floats:
    x[:, 2] = 100.0 * (5.0 + 3.0 * rng.normal(size=len(x)))
    return x


_T10 = math.sqrt(8.0)

# What is drawn: n rows of d columns.
ALTERNATIVES: dict[str, Callable[[int, int, Rng], Any]] = {
    "clean": lambda n, d, rng: rng.normal(size=(n, d)),
    "no upper 5 %": lambda n, d, rng: stats.norm.ppf(0.95 * rng.random((n, d))),
    "no upper 10 %": lambda n, d, rng: stats.norm.ppf(0.9 * rng.random((n, d))),
    "shift 0.3": lambda n, d, rng: 0.3 + rng.normal(size=(n, d)),
    "sd times 1.4": lambda n, d, rng: 1.4 * rng.normal(size=(n, d)),
    "sd times 0.8": lambda n, d, rng: 0.8 * rng.normal(size=(n, d)),
    "sd times 1.05": lambda n, d, rng: 1.05 * rng.normal(size=(n, d)),
    "sd times 1.1": lambda n, d, rng: 1.1 * rng.normal(size=(n, d)),
    "sd times 1.2": lambda n, d, rng: 1.2 * rng.normal(size=(n, d)),
    "t3": lambda n, d, rng: rng.standard_t(3, size=(n, d)),
    "t10": lambda n, d, rng: rng.normal(size=(n, d)) * _T10 / np.sqrt(rng.chisquare(10, size=(n, 1))),
    "wiggle": lambda n, d, rng: _wiggle(n, rng)[:, None],
    "column": lambda n, d, rng: _shifted(rng.normal(size=(n, d)), 0.5),
    "pair 0.4": lambda n, d, rng: _pairs(rng.normal(size=(n, d)), 1, 0.4),
    "ten pairs 0.5": lambda n, d, rng: _pairs(rng.normal(size=(n, d)), 10, 0.5),
    "direction": lambda n, d, rng: rng.normal(size=(n, d)) + 0.6 * _unit(d, rng),
    "factor": lambda n, d, rng: _widened(rng.normal(size=(n, d)), _unit(d, rng)[None], 3.0, rng),
    "eight factors": lambda n, d, rng: _widened(
        rng.normal(size=(n, d)), np.linalg.qr(rng.normal(size=(d, 8)))[0].T, 3.0, rng
    ),
    "gennorm times 1.5": lambda n, d, rng: stats.gennorm(8).rvs((n, 1), random_state=rng) * 1.5,
    "three, one sd wrong": lambda n, d, rng: _columns(n, rng) * [1.0, 1.1, 1.0],
    "three, third off": lambda n, d, rng: _third(_columns(n, rng), rng),
    "mixture": lambda n, d, rng: _mixture_draws(n, rng),
    "categories": lambda n, d, rng: rng.choice(len(SHARES), size=(n, 1), p=SHARES) + 0.0,
    "poisson": lambda n, d, rng: rng.poisson(3, size=(n, 1)) + 0.0,
    "poisson, variance times 1.5": lambda n, d, rng: rng.negative_binomial(6, 2.0 / 3.0, size=(n, 1)) + 0.0,
    "poisson, 15 % zeros": lambda n, d, rng: rng.poisson(3, size=(n, 1)) * (rng.random((n, 1)) >= 0.15),
}


def sample(cell: Cell, rng: Rng) -> Floats:
    """The rows of a cell: a named kind, bad rows among the model's, or rounded rows."""
    n, d, kind = cell["n"], cell["dimension"], cell["kind"]
    if kind in BAD or kind in CHANGED:
        return _contaminated(cell, rng, kind) if kind in BAD else CHANGED[kind](cell, rng)
    if kind.startswith("grid"):
        step = float(kind.split()[1])
        return np.asarray(step * np.round(_contaminated(cell, rng, "far") / step))
    if "%" in kind and kind not in ALTERNATIVES:
        return _mixed(kind, n, d, rng)
    return np.asarray(ALTERNATIVES[kind](n, d, rng), dtype=np.float64)


def _mixed(kind: str, n: int, d: int, rng: Rng) -> Floats:
    """Such as *25 % wide* or *10 % at 10*: that share of the rows is replaced."""
    share, _, what = kind.partition(" % ")
    x, struck = rng.normal(size=(n, d)), rng.random(n) < float(share) / 100.0
    word, _, place = what.partition(" ")
    x[struck] = float(place) if word == "at" else BAD[word](int(struck.sum()), d, rng)
    return x


GOOD_ENOUGH: tuple[Cell, ...] = tuple(
    {"kind": kind, "dimension": d, "n": n, "tolerance": share, "strategy": "false claim"}
    for kind, d, n, share in (
        ("sd times 1.2", 50, 1000, 0.1),
        ("ten pairs 0.5", 20, 1000, 0.1),
        ("25 % uniform", 5, 2000, 0.05),
        ("25 % vast", 1, 2000, 0.05),
        ("eight factors", 100, 1000, 0.05),
        ("three, one sd wrong", 3, 100_000, 0.01),
        ("gennorm times 1.5", 1, 1000, 0.05),
        ("three, third off", 3, 500, 0.05),
    )
)
"""Data that plainly do not fit, and that a test by scores called good enough."""


def second_sample(cell: Cell, rng: Rng) -> tuple[Design, Null | None]:
    """A design from a fresh second sample of as many rows as the data, or of twenty times as many."""
    m = cell["n"] * (1 if cell["kind"] == "second sample" else 20)
    d = cell["dimension"]
    design = Design.build(from_second_sample(rng.normal(size=(m, d))), cell["n"])
    draws = affordable_draws(design, 399)
    return design, simulate(design, cell["contamination"], draws) if draws else None
