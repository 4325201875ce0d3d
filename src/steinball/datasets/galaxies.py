"""The velocities of 82 galaxies."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from steinball.arrays import Floats

_SLIP = 77  # the 78th velocity: 26690, where the source has 26960
_TRUE_VELOCITY = 26960.0


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
    with files("steinball.datasets").joinpath("galaxies.csv").open(encoding="utf-8") as lines:
        velocities = np.loadtxt(lines, skiprows=1, dtype=np.float64)
    if corrected:
        velocities[_SLIP] = _TRUE_VELOCITY
    if standardize:
        velocities = (velocities - velocities.mean()) / (0.5 * velocities.std())
    return velocities[:, None]
