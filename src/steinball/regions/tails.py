"""Binomial tails and limits of a count, and what a share of rows is compared with."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats

# What is asked: are all but a share of the rows the model's, or does no region's share differ by more?
Question = Literal["contamination", "tolerance"]

Counts = NDArray[Any]  # whole numbers


def shortfall(counts: Counts, n: int, share: Floats) -> Floats:
    r"""How far counts k lie below what shares q of n rows would give,

    .. math:: D = n \, \mathrm{KL}\left( \frac{k + c}{n} \,\Big\|\, q \right)
       \text{ where } k + c < nq, \text{ else } 0, \qquad c = \frac12 + \frac{1 - 2q}{6}.

    Parameters
    ----------
    counts : array of int
        k, between 0 and n.
    n : int
        Number of rows.
    share : array
        q in [0, 1), of a shape that broadcasts with ``counts``.

    Notes
    -----
    D does not rise with k, as theorem A asks of a statistic, and Φ(−√(2D)) is close to P(Bin(n, q) ≤ k): c is the
    correction of Peizer and Pratt (1968).

    Examples
    --------
    >>> from scipy.special import bdtr, ndtr
    >>> d = shortfall(np.array([0, 30, 60]), 100, np.array([0.05, 0.5, 0.5]))
    >>> ndtr(-np.sqrt(2 * d)).round(6), bdtr([0, 30, 60], 100, [0.05, 0.5, 0.5]).round(6)
    (array([6.231e-03, 3.900e-05, 5.000e-01]), array([5.921e-03, 3.900e-05, 9.824e-01]))
    """
    mean = n * share
    short = np.minimum(counts + (2.0 - share) / 3.0, mean)
    found = scipy.special.rel_entr(short, mean) + scipy.special.rel_entr(n - short, n - mean)
    return np.asarray(np.maximum(found, 0.0))


def pool_law(heads: Floats, size: Floats, n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the law Beta(g, M + 1 − g) of P(A), where g (``heads``) of M (``size``) draws speak for A.

    The trapezoid rule in normal quantiles, so fine that tails of n rows above 1e-11 are right to 1e-5 of themselves. An
    infinite ``size`` says that P(A) is known, and is ``heads`` itself.
    """
    if np.isinf(size).all():
        return heads[:, None], np.ones(1)
    step = 0.8 / math.sqrt(1.0 + n / float(size.min()))
    at = step * np.arange(-math.ceil(8.0 / step), math.ceil(8.0 / step) + 1)
    positive, weights = np.maximum(heads, 1.0)[:, None], np.exp(-(at**2) / 2.0)
    nodes = scipy.special.betaincinv(positive, size[:, None] + 1.0 - positive, scipy.special.ndtr(at))
    return np.where(heads[:, None] > 0.0, nodes, 0.0), weights / weights.sum()


def floor_of(question: Question, probability: Any, share: float) -> Any:
    """The least share of rows in a region of this probability that what is tolerated leaves."""
    return (1.0 - share) * probability if question == "contamination" else np.maximum(probability - share, 0.0)


def tail(question: Question, counts: Counts, n: int, law: tuple[Floats, Floats], share: float) -> Floats:
    r"""The probability of so few rows in a region, at the edge of what is tolerated,

    .. math:: \mathbb{E}\, P(\mathrm{Bin}(n, f(P(A))) \le k),

    with f(P) = (1 − ε)P for contamination, f(P) = P − ε for tolerance; for tolerance the larger of this and
    P(Bin(n, P(A)) ≤ k + ⌊εn⌋), which covers ⌊εn⌋ rows changed by somebody who has seen all.

    Examples
    --------
    >>> known = pool_law(np.array([0.27]), np.array([np.inf]), 1000)
    >>> tail("contamination", np.array([198]), 1000, known, 0.05).round(6)
    array([8.e-06])
    """
    nodes, weights = law
    counted = np.asarray(counts, dtype=np.float64)[..., None]
    found = scipy.special.bdtr(counted, n, floor_of(question, nodes, share)) @ weights
    if question == "tolerance":
        changed = np.minimum(counted + math.floor(n * share + 1e-9), n)
        found = np.maximum(found, scipy.special.bdtr(changed, n, nodes) @ weights)
    return np.asarray(found)


def lower_limit(counts: Counts, n: int, level: float) -> Floats:
    """The one-sided lower Clopper–Pearson limit of a share, of which k of n rows were seen.

    Examples
    --------
    >>> lower_limit(np.array([0, 5, 10]), 10, 0.05).round(3)
    array([0.   , 0.222, 0.741])
    """
    k = np.arange(n + 1.0) if np.size(counts) > n else np.asarray(counts, dtype=np.float64)
    limits = np.where(k > 0.0, scipy.special.betaincinv(np.maximum(k, 1.0), n - k + 1.0, level), 0.0)
    return limits[counts] if np.size(counts) > n else limits


def upper_limit(counts: Counts, n: int, level: float) -> Floats:
    """The one-sided upper Clopper–Pearson limit of a share, of which k of n rows were seen."""
    return np.asarray(1.0 - lower_limit(n - np.asarray(counts), n, level))
