"""Which of two models is closer: the kernel score against the log score and the KSD, clean and contaminated."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, level
from experiments.framework.figures import Style
from experiments.framework.table import Results
from steinball.comparison import (
    DrawnEmbedding,
    KernelCoordinates,
    MixtureEmbedding,
    compare_embeddings,
    number_of_draws,
)
from steinball.kernels import InverseMultiquadric
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

__all__ = ["EXPERIMENT"]

Floats = NDArray[np.float64]

TOLERANCE, Z = 0.05, 1.959963984540054
SIZE, SIZE_BY_DRAWS = 500, 200


class Pair(NamedTuple):
    """N(m, s²I) for both models, m along the first column or all, and where 5 % of N(0, I) data lie instead."""

    first: tuple[float, float]
    second: tuple[float, float]
    place: float | None
    every: bool = False


PAIRS = {
    "closer": Pair((-0.1, 1.0), (0.65, 1.0), None),
    "closer, 5 % at 8": Pair((-0.1, 1.0), (0.65, 1.0), 8.0),
    "tie, 5 % at 8": Pair((-0.5, 1.0), (0.5, 1.0), 8.0),
    "tie, 5 % at 2.5": Pair((-0.5, 1.0), (0.5, 1.0), 2.5),
    "shift or scale": Pair((0.5, 1.0), (0.0, 3.0), None),
    "equal": Pair((0.0, 1.0), (0.0, 1.0), None),
    "every column, 5 % at 8": Pair((0.0, 1.0), (0.45, 1.0), 8.0, every=True),
    "wider, 5 % at 8": Pair((0.0, 1.0), (0.0, 1.5), 8.0),
}
CLOSER = ("closer", "closer, 5 % at 8", "shift or scale")
TIES = ("tie, 5 % at 8", "tie, 5 % at 2.5")
FIVE = ("every column, 5 % at 8", "wider, 5 % at 8", "tie, 5 % at 2.5")
BY_DRAWS = ("closer, 5 % at 8", "tie, 5 % at 2.5", "equal")
METHODS = {
    "kernel": Style("kernel score, tolerant", "#0072B2"),
    "log": Style("log score (Vuong)", "#D55E00", "s"),
    "ksd": Style("relative KSD", "#009E73", "^"),
    "tilted": Style("relative KSD, tilted", "#CC79A7", "D"),
}


def centers(pair: Pair, d: int) -> tuple[Floats, Floats]:
    """The means of both models, (d,)."""
    along = np.ones(d) if pair.every else np.eye(d)[0]
    return pair.first[0] * along, pair.second[0] * along


def sample(pair: Pair, n: int, d: int, rng: np.random.Generator) -> Floats:
    """Rows of N(0, I), each with probability .05 in one place instead."""
    x = rng.standard_normal((n, d))
    if pair.place is not None:
        x[rng.random(n) < TOLERANCE] = pair.place
    return x


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, every method. ``rejected`` of ``kernel a`` is whether a is called closer, ``ksd`` the lower end."""
    pair, n, d = PAIRS[cell["kind"]], cell["n"], cell["dimension"]
    x, start = sample(pair, n, d, rng), time.perf_counter()
    said, low = _by_kernel(x, pair, cell["strategy"] == "draws", rng)
    answers = {"kernel": said}
    seconds = time.perf_counter() - start
    if cell["strategy"] == "closed":
        answers |= {"log": _by_log_score(x, pair), "ksd": _by_ksd(x, pair, False), "tilted": _by_ksd(x, pair, True)}
    return [
        {"test": f"{method} {name}", "rejected": int(answer == name), "ksd": low, "seconds": seconds, **cell}
        for method, answer in answers.items()
        for name in "ab"
    ]


def _by_kernel(x: Floats, pair: Pair, drawn: bool, rng: np.random.Generator) -> tuple[str | None, float]:
    n, d = x.shape
    means, scales = centers(pair, d), (pair.first[1], pair.second[1])
    m = number_of_draws(n) if drawn else 1000
    draws = [mean + scale * rng.standard_normal((m, d)) for mean, scale in zip(means, scales, strict=True)]
    at = KernelCoordinates.from_draws(draws)
    if drawn:
        models: dict[str, Any] = {name: DrawnEmbedding(at, part) for name, part in zip("ab", draws, strict=True)}
    else:
        spreads = [scale**2 * np.eye(d)[None] for scale in scales]
        parts = zip("ab", means, spreads, strict=True)
        models = {name: MixtureEmbedding(at, mean[None], spread, np.ones(1)) for name, mean, spread in parts}
    found = compare_embeddings(x, models, TOLERANCE)[0]
    return found.closer, found.interval[0]


def _winner(values: Floats) -> str | None:
    """The sign of a mean of independent values, where it is significant at .05."""
    z = math.sqrt(len(values)) * float(values.mean()) / float(values.std(ddof=1))
    return "a" if z > Z else "b" if z < -Z else None


def _by_log_score(x: Floats, pair: Pair) -> str | None:
    """Vuong's test: the mean difference of log densities."""
    logs = [
        -0.5 * np.sum((x - mean) ** 2, axis=1) / scale**2 - x.shape[1] * math.log(scale)
        for mean, scale in zip(centers(pair, x.shape[1]), (pair.first[1], pair.second[1]), strict=True)
    ]
    if np.allclose(*logs):
        return None
    return _winner(logs[0] - logs[1])


def _by_ksd(x: Floats, pair: Pair, tilted: bool) -> str | None:
    """The difference of two KSD², by the normal limit of its U-statistic: the smaller D is called closer."""
    d = x.shape[1]
    stein = SteinKernel(InverseMultiquadric(math.sqrt(2.0 * d)), PolynomialTilt() if tilted else None)
    grams = []
    for mean, scale in zip(centers(pair, d), (pair.first[1], pair.second[1]), strict=True):
        scores = -(x - mean) / scale**2
        gram = stein(x, scores, x, scores)
        np.fill_diagonal(gram, 0.0)
        grams.append(gram.sum(axis=1) / (len(x) - 1))
    difference = grams[1] - grams[0]
    if np.allclose(difference, 0.0):
        return None
    z = math.sqrt(len(x)) * float(difference.mean()) / (2.0 * float(difference.std(ddof=1)))
    return "a" if z > Z else "b" if z < -Z else None


def draw(results: Results, figure: Any) -> None:
    """How often each method calls a closer (left) and b closer (right), by the kind of data."""
    kinds = [*CLOSER, *TIES]
    panels = figure.subplots(1, 2, sharey=True)
    for ax, name in zip(panels, "ab", strict=True):
        for shift, (method, style) in zip((-0.24, -0.08, 0.08, 0.24), METHODS.items(), strict=True):
            found = results.rates.select(test=f"{method} {name}", strategy="closed", dimension=1)
            rates = [found.one(kind=kind).rate for kind in kinds]
            ax.barh(np.arange(len(kinds)) + shift, rates, height=0.15, color=style.color, label=style.label)
        level_line(ax, upright=True)
        ax.set(xlabel="share of samples", title=f"{name} is called closer", xlim=(0.0, 1.02))
        ax.set_yticks(range(len(kinds)), kinds)
    panels[0].invert_yaxis()
    legend_of(figure, panels[0], LEVEL_LABEL, loc="outside lower center", ncols=5)


def table(results: Results) -> str:
    """Every rate, a before b."""
    head = ["data", "d", "n", "μ", *(style.label for style in METHODS.values())]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for cell in GRID:
        rates = results.rates.select(**{name: cell[name] for name in ("kind", "dimension", "n", "strategy")})
        texts = []
        for method in METHODS:
            both = [list(rates.select(test=f"{method} {name}")) for name in "ab"]
            texts.append(f"{both[0][0].rate:.3f} / {both[1][0].rate:.3f}" if both[0] else "")
        first = [f"{cell[name]}" for name in ("kind", "dimension", "n", "strategy")]
        lines.append(f"| {' | '.join(first + texts)} |")
    return "Shares of samples, a closer / b closer:\n\n" + "\n".join(lines)


def _near(results: Results) -> Iterator[Finding]:
    """Draws lose little against the closed form, and equal models stay equal."""
    rate = results.rates.one(test="kernel a", kind=BY_DRAWS[0], strategy="draws").rate
    yield Finding("a is found by draws, closer, 5 % at 8, n = 200", "≥ .5", rate, rate >= 0.5)


GRID = (
    *({"kind": kind, "dimension": 1, "n": SIZE, "strategy": "closed"} for kind in (*CLOSER, *TIES)),
    *({"kind": kind, "dimension": 5, "n": SIZE, "strategy": "closed"} for kind in FIVE),
    *({"kind": kind, "dimension": 1, "n": SIZE_BY_DRAWS, "strategy": "draws"} for kind in BY_DRAWS),
)

EXPERIMENT = Experiment(
    name="comparison",
    title="which of two models is closer",
    reference="docs/theory/comparison.md",
    setup="level .05, tolerated contamination .05; three Gaussian kernels at ½, 1 and 2 times the median distance",
    says=(
        "Data of N(0, I), of which 5 % lie in one place where the name says so. *Closer*: N(−.1, 1) against N(.65, 1). "
        "*Tie*: N(−.5, 1) against N(.5, 1). *Shift or scale*: N(.5, 1) against N(0, 3²), of Kullback–Leibler "
        "divergence .125 and .65: a is closer. *Equal*: one model twice, each by its own draws. In five columns: N(0, "
        "I) against a shift of .45 in every column, N(0, I) against N(0, 1.5² I), and the tie along the first column; "
        "there sup g is bounded by a norm and not searched. With `closed`, μ is in closed form; with `draws`, it comes "
        "from 20n draws of each model. The log score is decided by the outliers; the KSD is not comparable between "
        "models, and calls the worse one closer on clean data."
    ),
    grid=GRID,
    trial=trial,
    repeats=200,
    again=1000,
    expectations=(
        above("a is found closer", 0.9, test="kernel a", strategy="closed", dimension=1, axes={"kind": CLOSER}),
        above(
            "a is found closer, d = 5", 0.9, test="kernel a", strategy="closed", dimension=5, axes={"kind": FIVE[:2]}
        ),
        *(
            level(
                f"the worse model is not, d = {d}",
                test="kernel b",
                strategy="closed",
                dimension=d,
                axes={"kind": kinds},
            )
            for d, kinds in ((1, CLOSER), (5, FIVE[:2]))
        ),
        *(
            level(
                f"ties stay ties, d = {d}, {name}",
                test=f"kernel {name}",
                strategy="closed",
                dimension=d,
                axes={"kind": kinds},
            )
            for d, kinds in ((1, TIES), (5, FIVE[2:]))
            for name in "ab"
        ),
        *(
            level(
                f"by draws neither is said of a tie, {name}",
                test=f"kernel {name}",
                strategy="draws",
                axes={"kind": BY_DRAWS[1:]},
            )
            for name in "ab"
        ),
        Expectation("draws are enough", _near),
        above(
            "5 % of outliers decide the log score",
            0.9,
            test="log b",
            strategy="closed",
            dimension=1,
            axes={"kind": TIES[:1]},
        ),
        above(
            "the tilted KSD prefers the worse model",
            0.5,
            test="tilted b",
            strategy="closed",
            dimension=1,
            axes={"kind": CLOSER[2:]},
        ),
    ),
    draw=draw,
    extra=table,
    size=(9.5, 3.6),
)
