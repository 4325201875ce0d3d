"""Whether each mode of a model has the mass that the model gives it, up to contamination, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, as_samples, check_choice, check_level, check_share, like
from steinball.evidence.means import METHODS, MeansEvidence
from steinball.jumps.modes import ModeJumps, as_jumps
from steinball.models.base import model_at
from steinball.models.knowledge import Knowledge
from steinball.radius.contamination import Huber
from steinball.record import recorded
from steinball.results.base import Result
from steinball.text import OF_DISTRIBUTION, Row, describe, number, short


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SharpResult(Result):
    """The result of a test of Huber's model with bounded functions: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    statistic, threshold : float
        Betting: log e-value and log(1/level). Asymptotic: the t statistic and its quantile.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the distribution is contaminated.
    share : float
        The mean of f: an estimate (from below) of the contaminated share.
    method : {"betting", "asymptotic"}
        Proved for every n; for n → ∞.
    name : str
        Which test.
    details : dict
        How f was made.
    """

    share: float
    method: str
    name: str
    details: dict[str, Any]
    _evidence: MeansEvidence

    schema: ClassVar[str] = "steinball.sharp/2"
    _in_repr: ClassVar[tuple[str, ...]] = ("share", "contamination_bound")

    @property
    def title(self) -> str:
        """Which test it was."""
        return self.name

    def rows(self) -> list[Row]:
        """The table of the summary."""
        compared, when = ("log e-value", "every n") if self.method == "betting" else ("t statistic", "n → ∞")
        return [
            ("data", self._points()),
            ("share", number(self.share), "estimate of the contaminated share of the distribution, from below"),
            ("statistic", number(self.statistic), f"{compared}; {self._rule()}"),
            ("p-value", number(self.pvalue), f"{self._calibrated()}, valid for {when}"),
            ("modes", describe(self.details["modes"])),
        ]

    def _measured(self) -> str:
        return f"estimated share {short(self.share)}"

    def _whose(self) -> str:
        return OF_DISTRIBUTION


@recorded
def mode_weights_test(
    x: Any,
    model: Any,
    contamination: float = 0.0,
    *,
    jumps: ModeJumps | str = "auto",
    method: str = "betting",
    level: float = 0.05,
) -> SharpResult:
    r"""Test whether some mode has too little mass for contamination to explain, with one bounded function per mode

    .. math:: f_m(x) = \frac{P(m \mid z) - \mathbf 1\{c(x) = m\}}{\max(P(m \mid z), \kappa_m)} \le 1,
       \qquad E_P f_m = 0, \qquad E_Q f_m \le \varepsilon \ \text{ in Huber's model,}

    c(x) the cell of x and z its coordinates in it, P(m | z) the share of mode m among the points with these coordinates
    (:meth:`ModeJumps.memberships`). For modes of one shape the mean of f_m is 1 − (observed / expected mass of mode m),
    and its largest value over m is exactly the share of contamination that wrong weights amount to.

    Parameters
    ----------
    x, model
        As in :func:`steinball.ksd_test`; the log density is used where the model has one.
    contamination : float
        The tolerated share ε.
    jumps : ModeJumps or "auto"
        The modes; by default those of :func:`steinball.jumps.find_modes`. Fixed without these data.
    method : {"betting", "asymptotic"}
        A finite-sample test, or t statistics with a Bonferroni correction. Their standard deviation is the larger of
        the sample's and that under the model: a mode that no point lies in has none in the sample.
    level : float
        As in :func:`steinball.ksd_test`.

    Returns
    -------
    SharpResult
        ``details["deficits"]`` has the mean of every f_m.

    Notes
    -----
    Proved (``docs/theory/many-modes.md``): with ``method="betting"`` the level holds for every n and uniformly over
    Huber's model, whatever the modes. It sees the masses of the modes and nothing else: combine it with a KSD test for
    their shapes. No bound of a supremum is needed, no kernel, no split, no randomness. It is for models that cannot be
    drawn from: with a sampler or a distribution function :func:`steinball.region_test` sees weights and shapes alike.

    See Also
    --------
    region_test : for models that can be drawn from.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    >>> x = GaussianMixture([0.7, 0.3], [-6.0, 6.0]).sample(500, rng=0)
    >>> result = mode_weights_test(x, model, contamination=0.1)
    >>> result.rejected, 0.3 < result.share < 0.5
    (True, True)
    """
    contamination, samples = check_share(contamination, "contamination"), as_samples(x)
    method, level = check_choice(method, "method", METHODS), check_level(level)
    model = model_at(model, samples)
    alone = isinstance(jumps, str) and Knowledge(model).radial_score is not None  # one mode need not be looked for
    moves = as_jumps(None if alone else jumps, model, samples)
    if not (alone or isinstance(moves, ModeJumps)):
        raise TypeError(f'`jumps` must be "auto" or ModeJumps, which knows its modes, got {jumps!r}.')
    if not isinstance(moves, ModeJumps) or len(moves.modes) < 2:
        raise ValueError("`mode_weights_test` compares modes, but the model has one. Pass `jumps=ModeJumps(modes)`.")
    cells, shares = moves.memberships(samples, model)
    floors = _least_shares(moves, model, samples)
    values = _deficits(cells, shares, floors)
    spreads = _deviations(shares, floors)
    evidence = MeansEvidence(np.ascontiguousarray(values.T), -1.0 / floors, spreads, method)
    about: dict[str, Any] = {"dimension": int(samples.shape[1]), "name": "Test of the weights of modes"}
    about["details"] = {"modes": len(floors), "deficits": values.mean(axis=0).tolist()}
    return SharpResult.of(evidence, Huber(contamination), level, **about)


def _least_shares(moves: ModeJumps, model: Any, samples: Any) -> Floats:
    """κ_m = P(m | c)/2, half the share of mode m at the center c of the first mode; the data have no part in it."""
    _, shares = moves.memberships(like(moves.modes.locations[:1], samples), model)
    return np.asarray(np.maximum(shares[0] / 2.0, 1e-6))


def _deficits(cells: NDArray[np.intp], shares: Floats, floors: Floats) -> Floats:
    """The bounded functions f_m, one a mode, at every point: shape (n, k)."""
    own = cells[:, None] == np.arange(shares.shape[1])
    return np.asarray((shares - own) / np.maximum(shares, floors))


def _deviations(shares: Floats, floors: Floats) -> Floats:
    """The standard deviation of every f_m under the model: given z, the cell is m with probability P(m | z)."""
    variances = np.mean(shares * (1.0 - shares) / np.maximum(shares, floors) ** 2, axis=0)
    return np.asarray(np.sqrt(variances))
