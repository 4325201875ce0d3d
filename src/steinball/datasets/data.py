"""Data that ship with the library, and samples some rows of which come from elsewhere (paper §2.3)."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Any

import numpy as np

from steinball import arrays
from steinball.arrays import Array, Floats
from steinball.models.registry import read_sampler

_ORDER = 1988  # the seed of the order of the wages


def _columns(name: str) -> Floats:
    """The numbers of a file with one line of names, (n,) or (n, columns)."""
    with files("steinball.datasets").joinpath(name).open(encoding="utf-8") as lines:
        return np.loadtxt(lines, skiprows=1, delimiter=",", dtype=np.float64)


def load_galaxies(standardize: bool = True) -> Floats:
    """Velocities of 82 galaxies in the Corona Borealis region (Postman et al., 1986; Roeder, 1990).

    Parameters
    ----------
    standardize : bool
        Subtract the mean and divide by half the standard deviation, as in the paper's §5.3; otherwise km/s.

    Returns
    -------
    (82, 1) array
        The velocities in increasing order.

    Notes
    -----
    The 78th velocity is 26690, where the source has 26960. The digits were swapped in the copy of the data that went
    round, and the paper's results contain the slip.

    Examples
    --------
    >>> load_galaxies(standardize=False)[:3, 0]
    array([9172., 9350., 9483.])
    """
    velocities = _columns("galaxies.csv")
    if standardize:
        velocities = (velocities - velocities.mean()) / (0.5 * velocities.std())
    return velocities[:, None]


def load_nile() -> Floats:
    """Yearly flow of the Nile at Aswan, 1871 to 1970, in 10⁸ m³ (Cobb, 1978): lower from about 1899 on.

    Returns
    -------
    (100, 1) array
        The flows in the order of the years.

    Examples
    --------
    >>> load_nile()[:3, 0]
    array([1120., 1160.,  963.])
    """
    return _columns("nile.csv")[:, None]


def load_wages() -> Floats:
    """Weekly wages, in dollars of 1992, of 25,631 men who worked full time (Current Population Survey, March 1988).

    Men of 18 to 70 years who were neither self-employed nor unpaid. The survey is a work of the United States Census
    Bureau and in the public domain; Bierens and Ginther (2001) prepared this extract, which the R package AER
    distributes as ``CPS1988``. Many men named a round wage for the year, and many wages are therefore equal: 808 of
    them are 712.25 dollars a week, which were 30,000 dollars a year.

    Returns
    -------
    (25631, 1) array
        The wages in one random order, always the same.

    Notes
    -----
    The data are stored as a table of wages and numbers of workers, which has no order of rows.

    References
    ----------
    Bierens, H. J., and Ginther, D. (2001). Integrated conditional moment testing of quantile regression models.
    Empirical Economics 26, 307-324.

    Examples
    --------
    >>> wages = load_wages()
    >>> wages.shape, float(np.median(wages))
    ((25631, 1), 567.23)
    """
    wages, workers = _columns("wages.csv").T
    rows = np.repeat(wages, workers.astype(np.int64))
    return np.random.default_rng(_ORDER).permutation(rows)[:, None]


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
    samples, share = arrays.as_samples(x, "x", least=1), arrays.check_share(share, "share")
    clean, generator = arrays.to_host(samples).copy(), arrays.as_generator(rng)
    n, d = clean.shape
    exact = arrays.check_choice(count, "count", ("exact", "binomial")) == "exact"
    m = whole_part(n * share) if exact else int(generator.binomial(n, share))
    clean[generator.choice(n, size=m, replace=False)] = _draw(contamination, m, d, generator)  # drawn before chosen
    return arrays.like(clean, samples)


def whole_part(value: float) -> int:
    """The whole part; a product such as 100 · 0.29 = 28.999999999999996 means 29."""
    return math.floor(value + 1e-9)


def _draw(contamination: Any, m: int, d: int, generator: np.random.Generator) -> Floats:
    """m rows of R, shape (m, d)."""
    if not arrays.is_array_like(contamination) and not isinstance(contamination, type):
        sampler = read_sampler(contamination) or contamination
        if callable(sampler):
            rows = _rows(sampler(m, generator), d, least=m)
            if len(rows) != m:
                raise ValueError(f"`contamination` must return {m} rows of {d} numbers, got {len(rows)} rows.")
            return rows
    rows = _rows(contamination, d)
    return rows[generator.integers(0, len(rows), size=m)] if len(rows) > 1 else np.repeat(rows, m, axis=0)


def _rows(contamination: Any, d: int, least: int = 1) -> Floats:
    """A point as one row, or the rows to draw from."""
    if isinstance(contamination, (str, bytes, bool, type)) or contamination is None:
        raise TypeError(
            "`contamination` must be a point, rows to draw from, a function (m, rng) -> (m, d) or a model with "
            f"`sample(m, rng)`, got {contamination!r}."
        )
    values = arrays.as_numbers(contamination, "contamination")
    rows = np.full((1, d), values) if values.ndim == 0 else values
    if rows.ndim == 1:
        rows = rows[:, None] if d == 1 else rows[None, :]
    if rows.ndim != 2 or rows.shape[1] != d or len(rows) < least or not np.isfinite(rows).all():
        raise ValueError(
            f"`contamination` must be a point of {d} finite numbers or rows of them, (k, {d}), got {values.shape}."
        )
    return rows
