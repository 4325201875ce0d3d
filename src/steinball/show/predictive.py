"""Where predictions are wrong: rows over expected rows by feature and PIT, the PIT of one range, and bands of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.predictive import PredictiveEvidence
from steinball.predictive.finding import BAND_LEVELS, Finding, bands, box_picture
from steinball.predictive.table import ARCS, BINS, BLOCKS, CELLS, EDGES
from steinball.show.svg import Frame, canvas, drawing, finish, marks, plain
from steinball.show.view import Scene
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
    categories, marks, last_bin
        Whether the feature has categories, the ticks along its bins, and where they end: categories may be few.
    """

    finding: Finding
    feature: int
    block: int
    arc: int
    ratio: Floats
    histogram: Floats
    envelope: Floats
    categories: bool
    marks: list[tuple[float, str]]
    last_bin: int

    @classmethod
    def of(cls, result: Any) -> Box:
        """The box of a result."""
        evidence = result._evidence
        table, block, arc, _ = evidence.worst(result._tolerated, result._share)[0]
        found = box_picture(evidence.tables[table], evidence.null("any").tables[:, table], block)
        feature = table % len(evidence.features.bins)
        categories, last = _is_category(evidence, feature), int(evidence.features.bins[feature].max()) + 1
        told = categories, bin_marks(evidence, feature), last
        return cls(evidence.finding(table, block), feature, block, arc, *found, *told)

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
    if _is_category(evidence, feature):
        names = [np.unique(column[bins == k]).tolist() for k in there]
        return [(k + 0.5, own[0] + " …" * (len(own) > 1)) for k, own in zip(there, names, strict=True)]
    ends = [(float(there[0]), f"{column.min():.3g}")]
    return ends + [(k + 1.0, f"{column[bins == k].max():.3g}") for k in there]


def _is_category(evidence: PredictiveEvidence, feature: int) -> bool:
    return list(evidence.features.columns.values())[feature].dtype.kind == "U"


def draw_table(scene: Scene, ax: Any) -> Any:
    """A strip of colors over the feature that decides, with the box that decides outlined."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    box, (ax, theme) = Box.of(scene.result), canvas(ax)
    colors = LinearSegmentedColormap.from_list("rows", [theme.model, ax.get_facecolor(), theme.blamed])
    drawn = ax.pcolormesh(np.arange(BINS + 1), EDGES, box.strength.T, cmap=colors, vmin=-1, vmax=1)
    low, high = BLOCKS[box.block]
    for first, last in box.spans:
        look: dict[str, Any] = {"fill": False, "edgecolor": theme.ink, "linewidth": 2, "clip_on": False}
        ax.add_patch(Rectangle((low, first), high - low, last - first, **look))
    places, words = zip(*box.marks, strict=True)
    turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if max(map(len, words)) > 4 else {}
    ax.set_xticks(places, [plain(word) for word in words], fontsize="small", **turned)
    ax.set(xlim=(0, box.last_bin), ylim=(0, 1), xlabel=plain(box.finding.feature), ylabel="PIT, F(y | x)")
    bar = ax.figure.colorbar(drawn, ax=ax, ticks=[-1, 0, 1])
    bar.ax.set_yticklabels(["½", "1", "2"])
    return finish(ax, "rows over expected rows; outlined: too few", legend=False)


def draw_pit(scene: Scene, ax: Any) -> Any:
    """The PIT of the rows in the range of the feature that decides, and where simulated ones lie."""
    box, (ax, theme) = Box.of(scene.result), canvas(ax)
    for k, (first, last) in enumerate(box.spans):
        label = "too few rows" if k == 0 else None
        ax.axvspan(first, last, color=theme.blamed, alpha=theme.tint, linewidth=0, label=label)
    ax.stairs(box.histogram, EDGES, fill=True, color=theme.data, alpha=0.55, label="rows")
    ax.stairs(box.envelope[1], EDGES, baseline=box.envelope[0], fill=True, color=theme.model, alpha=0.25,
              label="95 % of simulated rows, each cell")  # fmt: skip
    ax.axhline(1.0, color=theme.model, linewidth=1.4)
    ax.set(xlim=(0, 1), ylim=(0, _top(box)), xlabel="PIT, F(y | x)", ylabel="rows over expected rows")
    return finish(ax, plain("all rows" if box.finding.everywhere else f"{box.finding.feature} {box.finding.span}"))


def has_bands(result: Any) -> bool:
    """Whether the laws have quantiles to draw."""
    return result._evidence.pit.quantiles is not None


def draw_bands(scene: Scene, ax: Any) -> Any:
    """y against the feature that decides: predicted quantiles as bands, and observed ones in each bin."""
    evidence: Any = scene.result._evidence
    box, (ax, theme) = Box.of(scene.result), canvas(ax)
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
    if box.categories:
        ax.set_xticks([at - 0.5 for at, _ in box.marks], [plain(words) for _, words in box.marks])
    ax.set(xlabel=plain(name), ylabel="y")
    return finish(ax, "predicted and observed quantiles")


def table_panel(scene: Scene) -> str:
    """The strip for a page."""
    box = Box.of(scene.result)
    longest = max(3, 40 // len(box.marks)) if box.categories else None  # of numbers some are left out instead
    named = [(place, words[:longest]) for place, words in box.marks]
    frame = Frame((0.0, float(box.last_bin)), (0.0, 1.0), named, marks(0.0, 1.0, most=4))
    parts = [
        frame.box((k, k + 1), (EDGES[c], EDGES[c + 1]), "more" if value > 0 else "less", _faint(abs(value)))
        for (k, c), value in np.ndenumerate(box.strength)
        if np.isfinite(value) and abs(value) > 0.02
    ]
    parts += [frame.box(BLOCKS[box.block], span, "outline") for span in box.spans]
    parts.append(frame.axes((box.finding.feature, "PIT, F(y | x)")))
    kinds = [("more rows than expected", "more"), ("fewer", "less"), ("the box that decides", "outline")]
    return drawing(parts, "Rows over expected rows, by feature and PIT", kinds)


def pit_panel(scene: Scene) -> str:
    """The PIT of the range that decides, for a page."""
    box = Box.of(scene.result)
    top, frame = _top(box), Frame((0.0, 1.0), (0.0, _top(box)))
    low, high = np.minimum(box.envelope, top)
    parts = [frame.box(span, None, "zone misfit") for span in box.spans]
    parts.append(frame.boxes(EDGES, np.minimum(box.histogram, top), "bars"))
    parts += [frame.box((EDGES[c], EDGES[c + 1]), (low[c], high[c]), "less", _faint(0.25)) for c in range(CELLS)]
    parts.append(frame.line(np.array([0.0, 1.0]), np.ones(2), "model"))
    parts.append(frame.axes(("PIT, F(y | x)", "rows over expected rows")))
    kinds = [("rows", "bars"), ("expected, with 95 % of simulated rows", "model"), ("too few rows", "zone misfit")]
    return drawing(parts, "PIT of the rows that decide", kinds)


def _faint(opacity: float) -> str:
    return f' fill-opacity="{opacity:.2f}"'


def _top(box: Box) -> float:
    """The upper end of the axis of a PIT: all bars but the first and the last, up to six times what is expected."""
    return 1.1 * min(6.0, max(2.0, float(np.max(box.histogram[1:-1])), float(np.max(box.envelope))))
