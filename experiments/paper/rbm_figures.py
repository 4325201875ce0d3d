"""The figures and tables of the Boltzmann machine: the paper's, and one of samplers and of other machines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.framework.base import PUBLISHED
from experiments.framework.expectations import standard_error
from experiments.framework.figures import TESTS, Series, Style, key, mark, nest, rate_panel, tests
from experiments.framework.rows import PAPER
from experiments.framework.table import Results

__all__ = ["CHAIN", "EXACT", "MACHINES", "N_MACHINES", "SHARE", "TOLERANCE", "TOLERANCES", "draw", "draw_samplers"]

EXACT, CHAIN, MACHINES = "exact", "chain", "machines"
TOLERANCES = (0.05, 0.1, 0.25)
N_MACHINES = 20
SHARE, TOLERANCE = 0.2, 0.1  # just beyond what is tolerated, where R-KSD begins to reject
_SHADES = ("#00563B", "#1B9E77", "#66C2A5")
_MARKERS = "oDv"


def draw(results: Results, figure: Any) -> None:
    """Data and outliers, their log densities, rejection against ε."""
    axes = figure.subplot_mosaic([["scatter", "density", "rates"]], width_ratios=[1, 1, 1.4])
    looks = {"data": Style("data", "#0072B2"), "outliers": Style("outliers", "#D55E00")}
    for name, style in looks.items():
        points, heights = results.panel("scatter")[name], results.panel("density")[name]
        axes["scatter"].scatter(points.x, points.y, s=6, color=style.color, label=style.label, linewidths=0)
        axes["density"].plot(heights.x, heights.value, color=style.color, label=style.label)
    axes["scatter"].set(xlabel="$x_1$", ylabel="$x_2$", title="first two coordinates")
    axes["density"].set(xlabel="share of points", ylabel="log density + constant", title="sorted log densities")
    axes["density"].legend(loc="center")
    _draw_rates(axes["rates"], results)


def _robust(results: Results, variant: str, line: str = "-", words: str = "") -> list[Series]:
    rates = results.rates.select(variant=variant, test=PAPER)
    return [
        Series(rates.select(tolerance=e0), Style(rf"R-KSD, $\varepsilon_0 = {e0:g}$" + words, color, marker, line))
        for e0, color, marker in zip(TOLERANCES, _SHADES, _MARKERS, strict=True)
    ]


def _draw_rates(ax: Any, results: Results) -> None:
    lines = [*tests(results.rates.select(variant=PUBLISHED), ("imq-ksd", "tilted-ksd")), *_robust(results, PUBLISHED)]
    rate_panel(ax, "contamination", lines, xlabel=r"contamination $\varepsilon$", title="rejection")
    nest(ax, 0.5)
    for tolerance in TOLERANCES:
        mark(ax, tolerance)
    key(ax, r"$\varepsilon = \varepsilon_0$")


def draw_samplers(results: Results, figure: Any) -> None:
    """The modes that draws are in, R-KSD on both kinds of draws, and its rates over random machines."""
    modes, rates, spread = figure.subplots(1, 3, width_ratios=[1, 1.2, 1.2])
    _draw_modes(modes, results)
    lines = [*_robust(results, PUBLISHED, words=", chains"), *_robust(results, EXACT, "--", ", exact")]
    rate_panel(rates, "contamination", lines, xlabel=r"contamination $\varepsilon$", title="chains and exact draws")
    rates.set_xlim(0.05, 0.6)
    key(rates, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    _draw_spread(spread, results)


def _draw_modes(ax: Any, results: Results) -> None:
    looks = {"model": ("model", "0.6"), PUBLISHED: ("500 chains", "#0072B2")}
    for k, (name, (label, color)) in enumerate(looks.items()):
        curve = results.panel("modes")[name]
        ax.bar(np.asarray(curve.x) + 0.4 * (k - 0.5), curve.value, width=0.4, color=color, label=label)
    ax.set(xlabel="hidden state", ylabel="share", title="modes that the draws are in")
    ax.set_xticks(np.asarray(results.panel("modes")["model"].x))
    ax.legend()


def _draw_spread(ax: Any, results: Results) -> None:
    """Rates of the random machines in their order, and of the published one."""
    rows = sorted(results.rates.select(variant=MACHINES, test=PAPER), key=lambda row: row.rate)
    look = TESTS[PAPER]
    for k, row in enumerate(rows):
        ax.plot([k, k], row.interval, color=look.color, alpha=0.4)
        ax.plot(k, row.rate, look.marker, color=look.color, label="random machines, exact" if k == 0 else None)
    for variant, color, words in ((PUBLISHED, "#0072B2", "chains"), (EXACT, "black", "exact")):
        found = results.rates.select(variant=variant, test=PAPER, tolerance=TOLERANCE, contamination=SHARE)
        for row in found:
            ax.axhline(row.rate, color=color, linewidth=1.0, label=f"published machine, {words}")
    title = rf"$\varepsilon = {SHARE:g}$, $\varepsilon_0 = {TOLERANCE:g}$"
    ax.set(xlabel="random machine", ylabel="rejection rate", title=title, ylim=(-0.04, 1.04))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22))


def tables(results: Results) -> str:
    """Both samplers where R-KSD begins to reject, the spread over machines, and the seconds."""
    return "\n\n".join(filter(None, (_sampler_table(results), _spread_line(results), _timing_table(results))))


def _sampler_table(results: Results) -> str:
    """Mean D and rates of chains and of exact draws, with z of their differences."""
    rows = ["| R-KSD | D: chains | exact | z | rate: chains | exact | z |", "|---|---|---|---|---|---|---|"]
    for e0, share in ((0.05, 0.1), (0.05, 0.15), (0.1, 0.2), (0.25, 0.45), (0.25, 0.5)):
        where = {"test": PAPER, "tolerance": e0, "contamination": share}
        found = [results.rates.select(variant=variant, **where).rows for variant in (PUBLISHED, EXACT)]
        if not all(found):
            return ""
        a, b = found[0][0], found[1][0]
        apart = (a.ksd - b.ksd) / math.hypot(a.ksd_sd / a.repeats**0.5, b.ksd_sd / b.repeats**0.5)
        z = (a.rate - b.rate) / standard_error(a, b)
        numbers = f"{a.ksd:.4f} | {b.ksd:.4f} | {apart:+.1f} | {a.rate:.2f} | {b.rate:.2f} | {z:+.1f}"
        rows.append(f"| ε₀ = {e0:g}, ε = {share:g} | {numbers.replace('-', '−')} |")
    return "\n".join(rows)


def _spread_line(results: Results) -> str:
    rates = sorted(row.rate for row in results.rates.select(variant=MACHINES, test=PAPER))
    if not rates:
        return ""
    middle = ", ".join(f"{rate:.2f}" for rate in rates)
    where = f"ε₀ = {TOLERANCE:g} at ε = {SHARE:g}, exact draws of {len(rates)} random machines"
    return f"Rates of R-KSD with {where}: {middle}."


def _timing_table(results: Results) -> str:
    """Seconds to draw 500 points and to test them, beside the paper's."""
    theirs = {"one chain of 7,000 steps": "58.4", "R-KSD": ".84"}
    rows = ["| 500 points | seconds here | in the paper |", "|---|---|---|"]
    for name, curve in results.panel("timing").items():
        assert curve.value is not None
        rows.append(f"| {name} | {curve.value[0]:.3f} | {theirs.get(name, '')} |")
    return "\n".join(rows)
