"""Where predictions are wrong: rows over expected rows by feature and PIT, the PIT of one range, and bands of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.predictive.finding import BAND_LEVELS, Finding, bands, box_picture
from steinball.predictive.table import ARCS, BLOCKS, CELLS, EDGES
from steinball.show.axes import canvas, finish, plain
from steinball.show.svg import Frame
from steinball.show.view import Scene
from steinball.text import percent

_MOST = 2_000
_FAINT = 0.02  # a weaker color is not seen


@dataclass(frozen=True, eq=False)
class Box:
    """The range of a feature and of the PIT that decides, and what lies around it.

    Attributes
    ----------
    finding : Finding
        The same in words.
    column, bins : arrays, shape (n,)
        Values of the feature, and the bin of each row.
    feature, block, arc : int
        Positions of the feature, and of the range of its bins and of the cells of the PIT.
    ratio : array, shape (8, 18)
        Rows over expected rows, by bin and cell.
    histogram, envelope : arrays, shapes (18,) and (2, 18)
        The same for all rows of the range, and where 95 % of simulated ones lie, cell by cell.
    """

    finding: Finding
    column: Any
    bins: Any
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
        finding, feature = evidence.finding(table, block), table % len(evidence.features.bins)
        column = evidence.features.columns[finding.feature]
        return cls(finding, column, evidence.features.bins[feature], feature, block, arc, *found)

    @property
    def categories(self) -> bool:
        """Whether the feature has categories."""
        return bool(self.column.dtype.kind == "U")

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Places and words of the ticks along the feature: ends of bins of numbers, middles of bins of categories."""
        there = [(k, np.unique(self.column[self.bins == k])) for k in np.unique(self.bins).tolist()]
        if self.categories:
            return [(k + 0.5, str(names[0]) + " …" * (len(names) > 1)) for k, names in there]
        first, values = there[0]
        return [(float(first), f"{values[0]:.3g}"), *((k + 1.0, f"{values[-1]:.3g}") for k, values in there)]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The arc as intervals of the PIT: cells that go around the end are two."""
        start, length = ARCS[self.arc]
        first, last = EDGES[start], EDGES[min(start + length, CELLS)]
        around = start + length - CELLS
        return [(first, last), (0.0, EDGES[around])] if around > 0 else [(first, last)]


def table_frame(scene: Scene) -> Frame:
    """A strip of colors over the feature that decides, with the box that decides outlined."""
    result: Any = scene.result
    box = Box.of(result)
    heading, caption = "rows over expected rows; outlined: too few", f"Rows over expected rows. {result.words}"
    x, names = (0.0, float(box.bins.max() + 1)), (box.finding.feature, "PIT, F(y | x)")
    frame = Frame(x, (0.0, 1.0), names, heading, caption, marks=box.marks, categories=box.categories)
    labels = {"more": "more rows than expected", "less": "fewer", "outline": "the box that decides"}
    with np.errstate(divide="ignore"):  # the color is strongest at twice as many rows as expected, or half as many
        strength = np.clip(np.log2(box.ratio), -1.0, 1.0)
    for (k, c), value in np.ndenumerate(strength):
        if abs(value) > _FAINT:  # and not NaN, in a bin without rows
            kind = "more" if value > 0 else "less"
            frame.box((k, k + 1), EDGES[c : c + 2], kind, labels.pop(kind, ""), opacity=abs(value))
    low, high = BLOCKS[box.block]
    for first, last in box.spans:
        around = [low, high, high, low, low], [first, first, last, last, first]
        frame.line(*around, "outline", labels.pop("outline", ""))
    return frame


def pit_frame(scene: Scene) -> Frame:
    """The PIT of the rows in the range of the feature that decides, and where simulated ones lie."""
    box = Box.of(scene.result)
    # All bars but the first and the last are shown, up to six times what is expected.
    top = 1.1 * min(6.0, max(2.0, float(np.max(box.histogram[1:-1])), float(np.max(box.envelope))))
    heading = "all rows" if box.finding.everywhere else f"{box.finding.feature} {box.finding.span}"
    names, caption = ("PIT, F(y | x)", "rows over expected rows"), "The PIT of those rows, and 95 % of simulated ones."
    frame = Frame((0.0, 1.0), (0.0, top), names, heading, caption)
    frame.spans(box.spans, "too few rows")
    frame.bars(EDGES, np.minimum(box.histogram, top), "rows")
    for c, ends in enumerate(np.minimum(box.envelope, top).T):
        frame.box(EDGES[c : c + 2], ends, "less", opacity=0.25)
    frame.line([0.0, 1.0], 1.0, "model", "expected, with 95 % of simulated rows")
    return frame


def has_bands(result: Any) -> bool:
    """Whether the laws have quantiles to draw."""
    return result._evidence.pit.quantiles is not None


def draw_bands(scene: Scene, ax: Any) -> Any:
    """y against the feature that decides: predicted quantiles as bands, and observed ones in each bin."""
    evidence: Any = scene.result._evidence
    box, (ax, theme) = Box.of(scene.result), canvas(ax)
    found = bands(evidence.y, evidence.pit, evidence.features, box.feature)
    assert found is not None
    x = box.bins.astype(float) if box.categories else box.column
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
    ax.set(xlabel=plain(box.finding.feature), ylabel="y")
    return finish(ax, "predicted and observed quantiles")
