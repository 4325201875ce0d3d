"""The kernel Stein discrepancy of a sample, and between two samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Array, OutOfRangeError, as_second_samples, like, namespace, to_host
from steinball.gram.base import check_estimator
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels.base import Kernel
from steinball.problem import Problem
from steinball.rows import Rows
from steinball.tilts import Tilt


def ksd(
    x: Any, model: Any, *, kernel: Kernel | None = None, tilt: Tilt | str | None = None, estimator: str = "v"
) -> float:
    r"""The kernel Stein discrepancy D of a sample from a model (paper §2.1, eq. 3)

    .. math:: D^2 = \frac{1}{n^2} \sum_{i,j} u(x_i, x_j).

    Parameters
    ----------
    x, model, kernel, tilt
        As in :func:`steinball.ksd_test`.
    estimator : {"v", "u"}
        The V-statistic above, or the unbiased U-statistic over i ≠ j (whose root is 0 where it is negative).

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> round(ksd([0.0, 1.0], lambda x: -x, kernel=InverseMultiquadric(1.0)), 6)
    0.696301
    """
    check_estimator(estimator)
    summary = DenseGram(Problem.of(Rows.of(x, model), kernel, tilt)).summarise(Request())
    return math.sqrt(max(0.0, summary.mean if estimator == "v" else summary.unbiased_mean))


def targeted_ksd(x: Any, y: Any, model: Any, *, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> float:
    r"""The P-targeted KSD between two samples (paper App. A, Lemma on the closed form of P-KSD)

    .. math:: S_P^2(Q, R) = \mathbb{E} u(X, X') + \mathbb{E} u(Y, Y') - 2 \mathbb{E} u(X, Y),

    a metric on distributions as the model's Stein features see them; between a sample and the model itself it is the
    KSD. Both samples enter as V-statistics.

    Parameters
    ----------
    x, y : array
        Samples (n, d) and (m, d) of one array library.
    model, kernel, tilt
        As in :func:`steinball.ksd_test`; defaults are taken from ``x``. A score array cannot serve two samples.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> targeted_ksd([0.0, 1.0], [1.0, 0.0], lambda x: -x, kernel=InverseMultiquadric(1.0))
    0.0
    """
    subject = Rows.of(x, model)
    first = Problem.of(subject, kernel, tilt)
    second = first.at(like(as_second_samples(y, subject.template), subject.samples))
    pairs = [(first, first, 1.0), (second, second, 1.0), (first, second, -2.0)]
    with np.errstate(over="ignore", invalid="ignore"):
        means = [sign * _mean(first.stein(a.samples, a.scores, b.samples, b.scores)) for a, b, sign in pairs]
    total = math.fsum(means) if np.isfinite(means).all() else math.inf
    if not math.isfinite(total):
        raise OutOfRangeError("the Stein kernel overflows: rescale `x` and `y`, or use a tilt.")
    return math.sqrt(max(0.0, total))


def _mean(block: Array) -> float:
    xp = namespace(block)
    return float(to_host(xp.sum(block, axis=1)).sum() / (block.shape[0] * block.shape[1]))
