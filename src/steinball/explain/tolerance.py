"""The answer of a test as a function of what is tolerated, and what must be conceded."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_numbers, check_share
from steinball.cautions import SteinballWarning
from steinball.results.base import Result, as_result, conceding
from steinball.text import number, percent, render, wrap

__all__ = ["Concession", "ToleranceCurve", "tolerance_curve"]

_STEPS = 100
_SHOWN = 8


@dataclass(frozen=True)
class Concession:
    """The contamination that must be conceded: the smallest tolerance at which the model is not rejected.

    Attributes
    ----------
    share : float
        ε_L. At confidence 1 − ``level`` at least this share is contaminated, that is, does not come from the model.
    level : float
        The level α.
    of_what : str
        Whether the statement is about these points or about the distribution that they come from.

    Notes
    -----
    One statement holds for all tolerances at once: the tolerated sets are nested, so that looking for the smallest one
    that is not rejected costs nothing. The level must be chosen before the data are seen.

    Examples
    --------
    >>> print(Concession(0.136, 0.05, "of these points are contaminated"))
    At confidence 95 %, at least 13.6 % of these points are contaminated, which means
    that they do not come from the model.
    """

    share: float
    level: float
    of_what: str

    def summary(self) -> str:
        """In words."""
        if not self.share:
            return wrap(f"No contamination has to be conceded at confidence {percent(1 - self.level)}.", indent=0)
        words = conceding(self.share, self.level, self.of_what).removesuffix(".")
        who = "they do" if "points" in self.of_what else "it does"
        return wrap(f"{words}, which means that {who} not come from the model.", indent=0)

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True, eq=False)
class ToleranceCurve:
    """p-value and verdict of a test for many tolerated shares of contamination.

    Attributes
    ----------
    contamination, pvalues : (m,) arrays
        The tolerated shares, and the p-value at each; the p-value does not fall as more is tolerated.
    verdicts : tuple of str
        ``"misfit"``, ``"undecided"`` or ``"good enough"`` at each.
    level : float
        The level of the verdicts.
    conceded : float
        The smallest share that is not rejected, at both ends of the bounds of an approximate engine.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[np.random.default_rng(1).permutation(300)[:60]] = 3.0
    >>> curve = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).tolerance_curve([0.0, 0.2, 0.5])
    >>> curve.verdicts
    ('misfit', 'undecided', 'good enough')
    """

    contamination: Floats
    pvalues: Floats
    verdicts: tuple[str, ...]
    level: float
    conceded: float

    def summary(self) -> str:
        """A table of a few shares, and what they mean."""
        chosen = np.unique(np.linspace(0, len(self.verdicts) - 1, _SHOWN).astype(int))
        rows = [(percent(self.contamination[k]), f"p = {number(self.pvalues[k])}", self.verdicts[k]) for k in chosen]
        return render(
            f"Tolerated contamination at level {self.level:g}",
            rows,
            f"At least {percent(self.conceded, down=True)} must be conceded. The tolerance may be chosen after the "
            "data were seen, because the tolerated sets are nested; the level must be chosen before.",
        )

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        return {
            "schema": "steinball.tolerance-curve/1",
            "level": self.level,
            "conceded": self.conceded,
            "contamination": self.contamination.tolist(),
            "pvalues": self.pvalues.tolist(),
            "verdicts": list(self.verdicts),
        }


def tolerance_curve(result: Result, grid: Any = None) -> ToleranceCurve:
    """p-value and verdict as a function of the tolerated share, from the draws of one test.

    Parameters
    ----------
    result : Result
        Of a test with a tolerance.
    grid : array, optional
        Shares in [0, 1], in any order. By default 101 of them from 0 to beyond all three zones.

    Notes
    -----
    The hypotheses "at most a share ε is contaminated" are nested in ε, and the p-value does not fall in ε. So the
    tolerance may be chosen after the data were seen: "rejected up to ε_L" is one confidence statement. The level may
    not.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> curve = tolerance_curve(sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0))
    >>> bool((np.diff(curve.pvalues) >= 0.0).all()), len(curve.verdicts)
    (True, 101)
    """
    as_result(result)._tolerating(1.0)  # what there is to warn of is said once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinballWarning)
        shares = _default_grid(result) if grid is None else _checked(grid)
        answers = [result._tolerating(float(share)) for share in shares]
    pvalues = np.array([answer.pvalue for answer in answers])
    return ToleranceCurve(
        shares, pvalues, tuple(answer.verdict for answer in answers), result.level, result.contamination_bound
    )


def _checked(grid: Any) -> Floats:
    shares = np.sort(np.ravel(as_numbers(grid, "grid")))
    if not shares.size:
        raise ValueError("`grid` must hold at least one share, got none.")
    return np.array([check_share(float(share), "grid") for share in shares])


def _default_grid(result: Result) -> Floats:
    """From 0, or a little above it where some points lie outside the support, which no tolerance of 0 allows."""
    shares = np.linspace(0.0, _end(result), _STEPS + 1)
    try:
        result._tolerating(0.0)
    except ValueError:
        return shares[1:]
    return shares


def _end(result: Result) -> float:
    """A share beyond all three zones, and beyond what was tolerated."""
    return min(
        1.0, 1.25 * max(result.contamination or 0.0, result.contamination_bound, _first_good_enough(result), 0.05)
    )


def _first_good_enough(result: Result) -> float:
    """About the smallest share at which the verdict is good enough; 0 where there is none."""
    low, high = 0.0, 1.0
    if result._tolerating(high).verdict != "good enough":
        return 0.0
    for _ in range(10):
        middle = (low + high) / 2.0
        low, high = (low, middle) if result._tolerating(middle).verdict == "good enough" else (middle, high)
    return high
