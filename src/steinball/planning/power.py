"""How often a test rejects data of an alternative, by simulation."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from scipy.special import betaincinv

from steinball.planning.study import Study, Test, check_count
from steinball.text import count, percent, wrap

_BAND = 0.05


@dataclass(frozen=True)
class Power:
    """The share of simulated samples that a test rejects.

    Attributes
    ----------
    share : float
        That share.
    low, high : float
        The 95 % band of Clopper and Pearson for the power itself; it accounts for the number of samples alone.
    n : int
        Points in each sample.
    repeats : int
        Number of samples.
    contamination, level : float
        Tolerated by the test, and its level.

    Examples
    --------
    >>> print(Power(0.81, 0.75, 0.86, 300, 200, 0.05, 0.05))
    With 300 points the test rejects 81 % of the samples at level 0.05, if 5 % of
    contamination is tolerated (95 % band 75 % to 86 %, from 200 simulated samples).
    """

    share: float
    low: float
    high: float
    n: int
    repeats: int
    contamination: float
    level: float

    def summary(self) -> str:
        """In words."""
        band = f"95 % band {percent(self.low)} to {percent(self.high)}"
        return wrap(
            f"With {count(self.n, 'point')} the test rejects {percent(self.share)} of the samples at level "
            f"{self.level:g}, if {percent(self.contamination)} of contamination is tolerated ({band}, from "
            f"{count(self.repeats, 'simulated sample')}).",
            indent=0,
        )

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        return {"schema": "steinball.power/1", **dataclasses.asdict(self)}


def power(
    model: Any,
    alternative: Any,
    n: int,
    contamination: float,
    *,
    share: float | None = None,
    level: float = 0.05,
    repeats: int = 200,
    test: Test | None = None,
    rng: Any = 0,
    progress: bool | str = "auto",
) -> Power:
    """How often a test of a model rejects samples of an alternative, by simulation.

    Parameters
    ----------
    model : Model
        What is tested, as in :func:`steinball.robust_ksd_test`.
    alternative : Model or callable
        Where the data come from: a model with ``sample(n, rng)``, or a function ``(n, rng) -> (n, d)``. With ``share``
        also a point or rows, as in :func:`steinball.datasets.contaminate`.
    n : int
        Points in each sample.
    contamination : float
        The tolerated share of contamination.
    share : float, optional
        With it the data come from the model but for this share, which comes from ``alternative``.
    level : float
        Level of the test.
    repeats : int
        Number of simulated samples.
    test : callable, optional
        ``(x, rng) -> result``, another test than ``robust_ksd_test(x, model, contamination)``.
    rng : int, SeedSequence, Generator or None
        Seed of the simulation. With the same seed the same samples are drawn.
    progress : bool or "auto"
        As in :func:`steinball.ksd_test`.

    Returns
    -------
    Power

    Examples
    --------
    >>> import steinball as sb
    >>> found = sb.power(sb.models.Gaussian(), 3.0, n=100, contamination=0.05, share=0.3, repeats=40)
    >>> found.share > 0.9, found.low < found.share <= found.high
    (True, True)
    """
    n, repeats = check_count(n, "n", 2), check_count(repeats, "repeats", 1)
    study = Study.of(model, alternative, contamination, share, level, test, rng, progress)
    return estimated(study, n, repeats)


def estimated(study: Study, n: int, repeats: int) -> Power:
    """The share of rejections among so many samples, with its band."""
    rejections = sum(p <= study.level for p in study.pvalues(n, repeats))
    low = float(betaincinv(rejections, repeats - rejections + 1, _BAND / 2.0)) if rejections else 0.0
    high = float(betaincinv(rejections + 1, repeats - rejections, 1.0 - _BAND / 2.0)) if rejections < repeats else 1.0
    return Power(rejections / repeats, low, high, n, repeats, study.contamination, study.level)
