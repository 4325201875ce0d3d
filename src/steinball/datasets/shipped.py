"""Data that ship with the library: velocities of galaxies, flows of the Nile, wages."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from steinball.arrays import Floats

_SLIP = 77  # the 78th velocity: 26690, where the source has 26960
_TRUE_VELOCITY = 26960.0
_ORDER = 1988  # the seed of the order of the wages


def _columns(name: str) -> Floats:
    """The numbers of a file with one line of names, (n,) or (n, columns)."""
    with files("steinball.datasets").joinpath(name).open(encoding="utf-8") as lines:
        return np.loadtxt(lines, skiprows=1, delimiter=",", dtype=np.float64)


def load_galaxies(corrected: bool = False, standardize: bool = True) -> Floats:
    """Velocities of 82 galaxies in the Corona Borealis region (Postman et al., 1986; Roeder, 1990).

    Parameters
    ----------
    corrected : bool
        Replace the 78th velocity, 26690, by 26960. The digits were swapped in the copy of the data that went
        round, and the paper's results contain the slip: it is kept by default.
    standardize : bool
        Subtract the mean and divide by half the standard deviation, as in the paper's §5.3; otherwise km/s.

    Returns
    -------
    (82, 1) array
        The velocities in increasing order.

    Examples
    --------
    >>> load_galaxies(standardize=False)[:3, 0]
    array([9172., 9350., 9483.])
    """
    velocities = _columns("galaxies.csv")
    if corrected:
        velocities[_SLIP] = _TRUE_VELOCITY
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
