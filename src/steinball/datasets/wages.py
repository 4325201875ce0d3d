"""The weekly wages of 25,631 men."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from steinball.arrays import Floats

_ORDER = 1988


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
    with files("steinball.datasets").joinpath("wages.csv").open(encoding="utf-8") as lines:
        wages, workers = np.loadtxt(lines, skiprows=1, delimiter=",", dtype=np.float64).T
    rows = np.repeat(wages, workers.astype(np.int64))
    return np.random.default_rng(_ORDER).permutation(rows)[:, None]
