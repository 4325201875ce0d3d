"""Where predictions are wrong: rows over expected rows by feature and PIT, the PIT of one range, and bands of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.predictive import PredictiveEvidence
from steinball.predictive.finding import BAND_LEVELS, Finding, bands, box_picture
from steinball.predictive.table import ARCS, BINS, BLOCKS, CELLS, EDGES
from steinball.show.svg import HEIGHT, Frame, drawing, text
from steinball.show.theme import canvas, legend
from steinball.text import percent

_FULL = 1.0  # where the color is strongest: twice as many rows as expected, or half as many
_MOST = 2_000


@dataclass(frozen=True, eq=False)
class Box:
    """The range of a feature and of the PIT that decides, and what lies around it.

    Attributes
    ----------
    finding : Finding
        The same in words.
    feature, block, arc : int
        Positions of the feature, and of the range of its bins and of the cells of the PIT.
    ratio : array, shape (8, 18)
        Rows over expected rows, by bin and cell.
    histogram, envelope : arrays, shapes (18,) and (2, 18)
        The same for all rows of the range, and where 95 % of simulated ones lie, cell by cell.
    """

    finding: Finding
    feature: int
    block: int
    arc: int
    ratio: Floats
    histogram: Floats
    envelope: Floats

    @classmethod
    def of(cls, result: Any) -> Box:
        """The box of a result."""
        evidence = result._evidence
        table, block, arc, _ = evidence.worst(result._tolerated, result._share)[0]
        found = box_picture(evidence.tables[table], evidence.null("any").tables[:, table], block)
        return cls(evidence.finding(table, block), table % len(evidence.features.bins), block, arc, *found)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The arc as intervals of the PIT: cells that go around the end are two."""
        start, length = ARCS[self.arc]
        first, last = EDGES[start], EDGES[min(start + length, CELLS)]
        around = start + length - CELLS
        return [(first, last), (0.0, EDGES[around])] if around > 0 else [(first, last)]

    @property
    def strength(self) -> Floats:
        """log₂ of the ratio, between −1 and 1; NaN in a bin without rows."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log2(self.ratio) / _FULL, -1.0, 1.0))


def bin_marks(evidence: PredictiveEvidence, feature: int) -> list[tuple[float, str]]:
    """Places and words of the ticks along a feature: ends of bins of numbers, middles of bins of categories."""
    column, bins = list(evidence.features.columns.values())[feature], evidence.features.bins[feature]
    there = np.unique(bins).tolist()
    if column.dtype.kind == "U":
        names = [np.unique(column[bins == k]).tolist() for k in there]
        return [(k + 0.5, own[0] + " …" * (len(own) > 1)) for k, own in zip(there, names, strict=True)]
    ends = [(float(there[0]), f"{column.min():.3g}")]
    return ends + [(k + 1.0, f"{column[bins == k].max():.3g}") for k in there]


def draw_table(result: Any, ax: Any = None) -> Any:
    """A strip of colors over the feature that decides, with the box that decides outlined."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    ax, theme = canvas(ax)
    box = Box.of(result)
    colors = LinearSegmentedColormap.from_list("rows", [theme.model, ax.get_facecolor(), theme.blamed])
    drawn = ax.pcolormesh(np.arange(BINS + 1), EDGES, box.strength.T, cmap=colors, vmin=-1, vmax=1)
    low, high = BLOCKS[box.block]
    for first, last in box.spans:
        look: dict[str, Any] = {"fill": False, "edgecolor": theme.ink, "linewidth": 2, "clip_on": False}
        ax.add_patch(Rectangle((low, first), high - low, last - first, **look))
    places, words = zip(*bin_marks(result._evidence, box.feature), strict=True)
    turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if max(map(len, words)) > 4 else {}
    ax.set_xticks(places, [word.replace("$", r"\$") for word in words], fontsize="small", **turned)
    ax.set(
        xlim=(0, _last_bin(result, box)),
        ylim=(0, 1),
        xlabel=box.finding.feature.replace("$", r"\$"),
        ylabel="PIT, F(y | x)",
    )
    bar = ax.figure.colorbar(drawn, ax=ax, ticks=[-1, 0, 1])
    bar.ax.set_yticklabels(["½", "1", "2"])
    ax.set_title("rows over expected rows; outlined: too few", loc="left", fontsize="medium")
    return ax


def _last_bin(result: Any, box: Box) -> int:
    """Bins of categories end where there are no more categories."""
    return int(result._evidence.features.bins[box.feature].max()) + 1


def draw_pit(result: Any, ax: Any = None) -> Any:
    """The PIT of the rows in the range of the feature that decides, and where simulated ones lie."""
    ax, theme = canvas(ax)
    box = Box.of(result)
    for k, (first, last) in enumerate(box.spans):
        label = "too few rows" if k == 0 else None
        ax.axvspan(first, last, color=theme.blamed, alpha=theme.tint, linewidth=0, label=label)
    ax.stairs(box.histogram, EDGES, fill=True, color=theme.data, alpha=0.55, label="rows")
    ax.stairs(box.envelope[1], EDGES, baseline=box.envelope[0], fill=True, color=theme.model, alpha=0.25,
              label="95 % of simulated rows, each cell")  # fmt: skip
    ax.axhline(1.0, color=theme.model, linewidth=1.4)
    top = max(2.0, float(np.max(box.histogram[1:-1])), float(np.max(box.envelope)))
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * min(top, 6.0)), xlabel="PIT, F(y | x)", ylabel="rows over expected rows")
    ax.set_title(_range_words(box.finding), loc="left", fontsize="medium")
    legend(ax)
    return ax


def _range_words(finding: Finding) -> str:
    place = "all rows" if finding.everywhere else f"{finding.feature} {finding.span}"
    return (place if len(place) <= 60 else place[:59] + "…").replace("$", r"\$")


def has_bands(result: Any) -> bool:
    """Whether the laws have quantiles to draw."""
    return result._evidence.pit.quantiles is not None


def draw_bands(result: Any, ax: Any = None) -> Any:
    """y against the feature that decides: predicted quantiles as bands, and observed ones in each bin."""
    ax, theme = canvas(ax)
    evidence, box = result._evidence, Box.of(result)
    found = bands(evidence.y, evidence.pit, evidence.features, box.feature)
    assert found is not None
    name, column = list(evidence.features.columns.items())[box.feature]
    x = column if column.dtype.kind == "f" else evidence.features.bins[box.feature].astype(float)
    some = np.random.default_rng(0).permutation(x.size)[:_MOST]
    ax.scatter(x[some], evidence.y[some], s=6, color=theme.data, alpha=0.5, linewidths=0, label="rows")
    there = np.isfinite(found.centers)
    centers, wanted = found.centers[there], found.predicted[:, there]
    for k, alpha in ((0, 0.15), (1, 0.3)):
        label = f"predicted {percent(BAND_LEVELS[4 - k] - BAND_LEVELS[k])}"
        ax.fill_between(centers, wanted[k], wanted[4 - k], color=theme.model, alpha=alpha, linewidth=0, label=label)
    ax.plot(centers, wanted[2], color=theme.model, linewidth=2, label="predicted median")
    for k, seen in enumerate(found.observed[:, there]):
        look = {"linewidth": 2 if k == 2 else 1, "linestyle": "-" if k == 2 else "--", "color": theme.blamed}
        ax.plot(centers, seen, **look, label="observed: 5, 25, 50, 75, 95 %" if k == 2 else None)
    if column.dtype.kind == "U":
        marks = bin_marks(evidence, box.feature)
        ax.set_xticks([at - 0.5 for at, _ in marks], [words.replace("$", r"\$") for _, words in marks])
    ax.set(xlabel=name.replace("$", r"\$"), ylabel="y")
    ax.set_title("predicted and observed quantiles", loc="left", fontsize="medium")
    legend(ax)
    return ax


def table_panel(result: Any) -> str:
    """The strip for a page."""
    box = Box.of(result)
    frame = Frame((0.0, float(_last_bin(result, box))), (0.0, 1.0))
    parts = [
        _rectangle(frame, (k, k + 1), (EDGES[c], EDGES[c + 1]), "more" if value > 0 else "less", abs(value))
        for (k, c), value in np.ndenumerate(box.strength)
        if np.isfinite(value) and abs(value) > 0.02
    ]
    parts += [_rectangle(frame, BLOCKS[box.block], span, "outline") for span in box.spans]
    left, right, top, bottom = frame.ends
    parts.append(f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>')
    for at, words in bin_marks(result._evidence, box.feature):
        parts.append(text(float(frame.across(at)), bottom + 18, words[:12], "middle"))
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(text(left - 8, float(frame.up(at)) + 4, f"{at:g}", "end"))
    parts.append(text((left + right) / 2, HEIGHT - 8, box.finding.feature, "middle"))
    middle = (top + bottom) / 2
    parts.append(f'<g transform="translate(13 {middle:.0f}) rotate(-90)">{text(0, 0, "PIT, F(y | x)", "middle")}</g>')
    return drawing(parts, "Rows over expected rows, by feature and PIT")


def pit_panel(result: Any) -> str:
    """The PIT of the range that decides, for a page."""
    box = Box.of(result)
    top = 1.1 * min(6.0, max(2.0, float(np.max(box.histogram[1:-1])), float(np.max(box.envelope))))
    frame = Frame((0.0, 1.0), (0.0, top))
    shown = np.minimum(box.histogram, top)
    low, high = np.minimum(box.envelope, top)
    parts = [_rectangle(frame, span, (0.0, top), "zone misfit") for span in box.spans]
    parts.append(frame.boxes(EDGES, shown, "bars"))
    parts += [_rectangle(frame, (EDGES[c], EDGES[c + 1]), (low[c], high[c]), "less", 0.25) for c in range(CELLS)]
    parts.append(frame.line(np.array([0.0, 1.0]), np.ones(2), "model"))
    return drawing([*parts, frame.axes(("PIT, F(y | x)", "rows over expected rows"))], "PIT of the rows that decide")


def _rectangle(frame: Frame, across: Any, up: Any, kind: str, opacity: float | None = None) -> str:
    (left, right), (bottom, top) = frame.across(np.array(across, float)), frame.up(np.array(up, float))
    faint = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
    size = f'width="{right - left:.2f}" height="{bottom - top:.2f}"'
    return f'<rect class="{kind}" x="{left:.2f}" y="{top:.2f}" {size}{faint}/>'
