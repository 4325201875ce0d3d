"""The answer of a test as a function of what is tolerated, and what must be conceded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_numbers, check_share
from steinball.evidence.base import Evidence
from steinball.radius.contamination import Huber
from steinball.remarks import give
from steinball.text import Summarized, number, percent, render, wrap

_STEPS, _LOOKED, _SHOWN = 100, 1024, 8


def conceding(bound: float, level: float, of_what: str) -> str:
    """The contamination that must be conceded, in a sentence; empty where it is none."""
    return f"At confidence {percent(1 - level)}, at least {percent(bound, down=True)} {of_what}." if bound else ""


@dataclass(frozen=True)
class Concession(Summarized):
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


@dataclass(frozen=True, eq=False)
class ToleranceCurve(Summarized):
    """p-value and verdict of a test for many tolerated shares of contamination.

    Attributes
    ----------
    contamination, pvalues : (m,) arrays
        The tolerated shares, and the p-value at each; the p-value does not fall as more is tolerated.
    verdicts : tuple of str
        ``"misfit"``, ``"undecided"`` or the best answer of the test, ``"close in KSD"`` or ``"good enough"``, at each.
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
    ('misfit', 'undecided', 'close in KSD')
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


def tolerance_curve(
    evidence: Evidence, level: float, own: float | None, conceded: float, grid: Any = None
) -> ToleranceCurve:
    """p-value and verdict as a function of the tolerated share, from the draws of one test.

    Parameters
    ----------
    evidence : Evidence
        Of a test with a tolerance.
    level, own, conceded : float
        Its level, the share that it tolerated, and the smallest share that is not rejected.
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
    >>> curve = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).tolerance_curve()
    >>> bool((np.diff(curve.pvalues) >= 0.0).all()), len(curve.verdicts)
    (True, 101)
    """
    everything = Huber(1.0)
    evidence.check(everything)
    give(evidence.remarks(everything))
    shares = _default_grid(evidence, level, own, conceded) if grid is None else _checked(grid)
    curve = evidence.curve(everything, shares, level)
    return ToleranceCurve(shares, curve.pvalues, curve.verdicts, level, conceded)


def _checked(grid: Any) -> Floats:
    shares = np.sort(np.ravel(as_numbers(grid, "grid")))
    if not shares.size:
        raise ValueError("`grid` must hold at least one share, got none.")
    return np.array([check_share(float(share), "grid") for share in shares])


def _default_grid(evidence: Evidence, level: float, own: float | None, conceded: float) -> Floats:
    """From 0 to beyond all three zones; without 0 where points outside the support need some tolerance."""
    end = min(1.0, 1.25 * max(own or 0.0, conceded, _first_close(evidence, level), 0.05))
    shares = np.linspace(0.0, end, _STEPS + 1)
    try:
        evidence.check(Huber(0.0))
    except ValueError:
        return shares[1:]
    return shares


def _first_close(evidence: Evidence, level: float) -> float:
    """About the smallest share at which the verdict is the best one; 0 where there is none."""
    shares = np.arange(1, _LOOKED + 1) / _LOOKED
    close = (evidence.limits(Huber(1.0), shares) >= evidence.upper_bound(level)) & (
        np.asarray(evidence.pvalues(Huber(1.0), shares)) > level
    )
    return float(shares[np.argmax(close)]) if close.any() else 0.0
