"""Contaminated data: a sample some rows of which come from elsewhere (paper §2.3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import (
    Array,
    Floats,
    as_generator,
    as_numbers,
    as_samples,
    check_choice,
    check_share,
    is_array_like,
    like,
    to_host,
)
from steinball.models.knowledge import Knowledge


def contaminate(x: Any, share: float, contamination: Any, rng: Any = None, *, count: str = "exact") -> Array:
    r"""A sample with a share of its rows replaced (Huber's model, paper §2.3)

    .. math:: Q = (1 - \varepsilon) P + \varepsilon R.

    Parameters
    ----------
    x : array
        A sample of P, shape (n, d), or (n,) for d = 1. It is not changed.
    share : float
        ε in [0, 1].
    contamination : number, array, callable or model
        R: a point (a number, or a vector of d numbers); rows to draw from with replacement, shape (k, d), where d = 1
        also (k,); a function ``(m, rng) -> (m, d)``; or a model with ``sample(m, rng)``.
    rng : None, int, SeedSequence or Generator
        Source of randomness.
    count : {"exact", "binomial"}
        Replace exactly ⌊nε⌋ rows, as in the paper's experiments, or each row with probability ε, as the model says.

    Returns
    -------
    (n, d) array
        Of the library and dtype of ``x``. Which rows are replaced is random.

    Examples
    --------
    >>> x = contaminate(np.zeros(100), 0.05, 10.0, rng=0)
    >>> x.shape, int(np.sum(x == 10.0))
    ((100, 1), 5)
    """
    samples, share = as_samples(x, "x", least=1), check_share(share, "share")
    clean, generator = to_host(samples).copy(), as_generator(rng)
    n, d = clean.shape
    exact = check_choice(count, "count", ("exact", "binomial")) == "exact"
    m = whole_part(n * share) if exact else int(generator.binomial(n, share))
    drawn = _draw(contamination, m, d, generator)
    clean[generator.choice(n, size=m, replace=False)] = drawn
    return like(clean, samples)


def whole_part(value: float) -> int:
    """The whole part; a product such as 100 · 0.29 = 28.999999999999996 means 29."""
    return math.floor(value + 1e-9)


def _draw(contamination: Any, m: int, d: int, generator: np.random.Generator) -> Floats:
    """m rows of R, shape (m, d)."""
    if not is_array_like(contamination) and not isinstance(contamination, type):
        sampler = Knowledge(contamination).sampler or contamination
        if callable(sampler):
            return _checked_rows(sampler(m, generator), m, d)
    rows = _rows(contamination, d)
    return rows[generator.integers(0, len(rows), size=m)] if len(rows) > 1 else np.repeat(rows, m, axis=0)


def _checked_rows(drawn: Any, m: int, d: int) -> Floats:
    rows = as_numbers(drawn, "contamination")
    rows = rows[:, None] if rows.ndim == 1 and d == 1 else rows
    if rows.shape != (m, d):
        raise ValueError(f"`contamination` must return {m} rows of {d} numbers, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("`contamination` must return finite numbers.")
    return rows


def _rows(contamination: Any, d: int) -> Floats:
    """A point as one row, or the rows to draw from."""
    if isinstance(contamination, (str, bytes, bool, type)) or contamination is None:
        raise TypeError(
            "`contamination` must be a point, rows to draw from, a function (m, rng) -> (m, d) or a model with "
            f"`sample(m, rng)`, got {contamination!r}."
        )
    values = as_numbers(contamination, "contamination")
    rows = np.full((1, d), values) if values.ndim == 0 else values
    if rows.ndim == 1:
        rows = rows[:, None] if d == 1 else rows[None, :]
    if rows.ndim != 2 or rows.shape[1] != d or len(rows) == 0:
        raise ValueError(f"`contamination` must be a point of {d} numbers or have shape (k, {d}), got {values.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("`contamination` must be finite.")
    return rows
