"""Draw the eight pictures of docs/concepts.md: ``python docs/images/concepts.py``, always the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

import steinball as sb

HERE = Path(__file__).parent / "concepts"
BLUE, ORANGE, GREEN, GRAY, DARK = "#0072b2", "#d55e00", "#009e73", "#bdbdbd", "#333333"
ZONES = {"misfit": "#f7e0d1", "undecided": "#fbedd0", "good enough": "#d3ede4"}
SHARE = 0.05

Floats = NDArray[np.float64]


def draw_contamination(left: Any, right: Any) -> None:
    """Nine rows in ten come from the model, one from elsewhere."""
    rng = np.random.default_rng(1)
    good, bad = rng.normal(size=1800), rng.normal(3.6, 0.35, size=200)
    bins = np.linspace(-4, 5, 46)
    left.hist([good, bad], bins=bins, stacked=True, color=[GRAY, ORANGE], label=["rows of the model", "bad rows"])
    left.set(title="10 % of the rows are bad", xlabel="x", ylabel="rows")
    left.legend(frameon=False)
    clipped = good[good < np.quantile(good, 0.9)]
    right.hist(good, bins=bins, color="white", edgecolor=ORANGE, ls=":", label="missing rows")
    right.hist(clipped, bins=bins, color=GRAY, label="rows")
    right.set(title="no contamination makes rows disappear", xlabel="x")
    right.legend(frameon=False)


def draw_tolerance(left: Any, right: Any) -> None:
    """Shares of data and model, cell by cell, and their differences."""
    edges = np.linspace(-3.2, 3.2, 17)
    model = np.diff(stats.norm.cdf(edges))
    data = np.diff(stats.norm(0.1, 1.02).cdf(edges)) * (1 + 0.12 * np.cos(np.arange(16) * 2.1))
    data *= model.sum() / data.sum()
    left.bar(edges[:-1], data, np.diff(edges), align="edge", color=GRAY, label="data")
    left.stairs(model, edges, color=BLUE, lw=2, label="model")
    left.axvspan(edges[8], edges[13], color=ZONES["misfit"], zorder=0)
    shares = data[8:13].sum(), model[8:13].sum()
    left.set(title=f"shaded: data {shares[0]:.1%}, model {shares[1]:.1%}", xlabel="x", ylabel="share of rows")
    left.legend(frameon=False)
    sums = np.concatenate([[0.0], np.cumsum(data - model)])
    differences = np.sort([abs(sums[j] - sums[i]) for i in range(17) for j in range(i + 1, 17)])[::-1]
    right.bar(np.arange(differences.size), 100 * differences, 1.0, color=BLUE)
    right.axhline(5.0, color=ORANGE, ls="--")
    right.text(differences.size, 5.2, "tolerated: 5 points", ha="right", color=ORANGE)
    right.set(title="all regions, the largest difference first", xlabel="region", ylabel="points", ylim=(0, 6.4))


def draw_verdicts(ax: Any) -> None:
    """Confidence intervals of the largest difference, and the verdict that each gives."""
    intervals = {"misfit": (7.0, 11.5), "undecided": (2.6, 7.6), "good enough": (0.5, 2.9)}
    for height, (name, (low, high)) in enumerate(intervals.items()):
        ax.plot([low, high], [height, height], color=DARK, lw=5, solid_capstyle="butt")
        ax.text(high + 0.2, height, name, va="center", fontsize=11)
    ax.axvline(5.0, color=ORANGE, ls="--")
    ax.text(5.1, 2.55, "tolerated: 5 points", color=ORANGE)
    ax.axvspan(0, 5, color=ZONES["good enough"], zorder=0)
    ax.axvspan(5, 14, color=ZONES["misfit"], zorder=0)
    ax.set(xlim=(0, 14), ylim=(-0.6, 2.9), yticks=[])
    ax.set_xlabel("largest difference of shares, with its confidence interval (points)")


def draw_ksd(left: Any, right: Any) -> None:
    """One Stein function, the most telling one, at rows of the model and at shifted rows."""
    rng = np.random.default_rng(3)
    true, shifted = rng.normal(size=60), rng.normal(0.9, 1.0, size=60)
    found = sb.ksd_test(shifted, sb.models.Gaussian(), rng=0).explain()
    grid = np.linspace(-3.5, 3.5, 200)
    for ax, rows, name in ((left, true, "rows of the model"), (right, shifted, "rows with another mean")):
        values = _witness(found, rows)
        ax.plot(grid, _witness(found, grid), color=BLUE)
        ax.plot(rows, values, "o", ms=4, color=GRAY, mec=DARK, mew=0.3)
        ax.axhline(0.0, color=DARK, lw=0.7)
        ax.axhline(values.mean(), color=ORANGE, lw=2, label=f"mean over the rows {values.mean():.2f}")
        ax.set(title=name, xlabel="x")
        ax.legend(frameon=False, loc="lower right")
    left.set_ylabel("a Stein function f(x)")


def _witness(found: Any, at: Floats) -> Floats:
    return np.asarray(found.witness(at[:, None]), dtype=float)


def weight(x: Floats) -> Floats:
    """The polynomial tilt of exponent ½ around 0."""
    return np.asarray((1 + x**2) ** -0.5)


def diagonal(x: Floats, *, tilted: bool) -> Floats:
    """u(x, x) of N(0, 1) under the inverse multiquadric kernel of length scale 1, in closed form."""
    if not tilted:
        return x**2 + 1
    w, slope = weight(x), -x * (1 + x**2) ** -1.5
    return np.asarray((slope - w * x) ** 2 + w**2)


def draw_tilt(left: Any, right: Any) -> None:
    """The weight, and what it does to the most that a row can count."""
    x = np.linspace(-8, 8, 401)
    left.plot(x, weight(x), color=GREEN, lw=2)
    left.set(title="the tilt: a weight w(x)", xlabel="x", ylim=(0, 1.1))
    right.plot(x, diagonal(x, tilted=False), color=ORANGE, lw=2, label="without a tilt")
    right.plot(x, diagonal(x, tilted=True), color=BLUE, lw=2, label="with the tilt")
    right.set(title="how much a row at x can count, u(x, x)", xlabel="x", ylim=(0, 12))
    right.legend(frameon=False, loc="center right")


def draw_radius(left: Any, right: Any) -> None:
    """τ is the highest point of u(x, x); the distance of contaminated data stays within ε√τ."""
    x = np.linspace(-6, 6, 601)
    u = diagonal(x, tilted=True)
    left.plot(x, u, color=BLUE, lw=2)
    left.axhline(u.max(), color=ORANGE, ls="--")
    left.text(-6, u.max() + 0.04, f"τ = {u.max():.2f}", color=ORANGE)
    left.set(title="u(x, x) and its largest value", xlabel="x", ylim=(0, 1.9))
    for share, color in ((SHARE, BLUE), (0.1, DARK)):
        right.plot(x, share * np.sqrt(u), color=color, lw=2, label=f"{share:.0%} of the rows at x")
    right.axhline(SHARE * np.sqrt(u.max()), color=ORANGE, ls="--", label="radius θ = 0.05 √τ")
    right.set(title="distance D of the data from the model", xlabel="x", ylim=(0, 0.19))
    right.legend(frameon=False, loc="upper right", fontsize=8.5)


def draw_regions(left: Any, right: Any) -> None:
    """A check whose region is short of rows, by the pictures of the library."""
    rng = np.random.default_rng(0)
    x = sb.datasets.contaminate(rng.normal(size=2000), 0.15, lambda n, rng: rng.normal(2.5, 0.4, size=(n, 1)), rng)
    result = sb.check(x, stats.norm(), contamination=SHARE, rng=0)
    result.plot("regions", left)
    result.plot("tolerance", right)


def draw_base_space(left: Any, right: Any) -> None:
    """Rows of an exponential distribution, and the same rows where it is standard normal."""
    rng = np.random.default_rng(4)
    rows = rng.exponential(size=1500)
    moved = stats.norm.ppf(stats.expon.cdf(rows))
    marked = 2.5
    x, z = np.linspace(0, 6, 300), np.linspace(-3.8, 3.8, 300)
    there = stats.norm.ppf(stats.expon.cdf(marked))
    panels = (
        (left, rows, x, stats.expon.pdf(x), marked, "your coordinates: an edge at 0"),
        (right, moved, z, stats.norm.pdf(z), there, "base space: no edge"),
    )
    for ax, values, grid, density, mark, title in panels:
        ax.hist(values, bins=40, density=True, color=GRAY)
        ax.plot(grid, density, color=BLUE, lw=2)
        ax.axvline(mark, color=ORANGE, lw=2)
        ax.set(title=title, xlabel="x" if ax is left else "z = Φ⁻¹(F(x))")
    left.set_ylabel("density")


PAIRS = {"contamination": draw_contamination, "tolerance": draw_tolerance, "ksd": draw_ksd, "tilt": draw_tilt,
         "radius": draw_radius, "regions": draw_regions, "base-space": draw_base_space}  # fmt: skip


def main() -> None:
    """All eight."""
    HERE.mkdir(exist_ok=True)
    for name, draw in PAIRS.items():
        figure = Figure(figsize=(9.0, 3.0), layout="constrained")
        draw(*figure.subplots(1, 2))
        _save(figure, name)
    figure = Figure(figsize=(9.0, 2.3), layout="constrained")
    draw_verdicts(figure.subplots())
    _save(figure, "verdict")


def _save(figure: Any, name: str) -> None:
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.title.set_fontsize(11)
    figure.savefig(HERE / f"{name}.png", dpi=85, metadata={"Software": None})


if __name__ == "__main__":
    main()
