"""The yearly flow of the Nile."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from steinball.arrays import Floats


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
    with files("steinball.datasets").joinpath("nile.csv").open(encoding="utf-8") as lines:
        return np.loadtxt(lines, skiprows=1, dtype=np.float64)[:, None]
