"""The Student family on the line."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, stdtr

from steinball.arrays import Floats
from steinball.fitting.family import Family
from steinball.models.student_t import StudentT

_MOST = 200.0  # degrees of freedom beyond which no sample tells the family from the normal one


class Student(Family):
    """Student's t with unknown degrees of freedom, location and scale.

    Examples
    --------
    >>> x = StudentT(5.0, 1.0, 2.0).sample(4000, rng=0)
    >>> Student().fit(x).round(1)
    array([4.9, 0.9, 2. ])
    """

    label = "student-t"

    @property
    def names(self) -> tuple[str, ...]:
        """As in SciPy."""
        return "df", "loc", "scale"

    @property
    def positive(self) -> tuple[bool, ...]:
        """df and scale."""
        return True, False, True

    def from_working(self, working: Floats) -> Floats:
        """With at most 200 degrees of freedom and at least a fifth."""
        limited = np.clip(working[0], np.log(0.2), np.log(_MOST))
        return super().from_working(np.concatenate([[limited], working[1:]]))

    def model(self, params: Floats) -> StudentT:
        """The model."""
        return StudentT(*params)

    def start(self, x: Floats) -> Floats:
        """Five degrees of freedom at median and median absolute deviation."""
        center = float(np.median(x))
        spread = 1.376 * float(np.median(np.abs(x - center)))
        return np.array([5.0, center, spread if spread > 0.0 else max(float(x.std()), 1e-300)])

    def margins(self, params: Floats, x: Floats) -> Floats:
        """The distribution function."""
        return np.asarray(stdtr(params[0], (x - params[1]) / params[2]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form."""
        df, loc, scale = params
        z = (x[:, 0] - loc) / scale
        ratio = (df + 1.0) * z / (df + z * z)
        by_df = digamma((df + 1.0) / 2.0) - digamma(df / 2.0) - 1.0 / df - np.log1p(z * z / df) + ratio * z / df
        return np.stack([0.5 * by_df, ratio / scale, (ratio * z - 1.0) / scale], axis=1)
