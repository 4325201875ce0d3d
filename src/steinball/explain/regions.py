"""Why, where shares are compared: the region that is short of rows, and the rows that the model does not explain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, check_resamples
from steinball.evidence.regions import RegionEvidence, question_of
from steinball.frames import Labels, labels_of
from steinball.radius.base import Radius
from steinball.regions.counted import Blame, Region, blame
from steinball.regions.views import column_families
from steinball.text import Row, Summarized, count, percent, render, short

_DRAWN, _LISTED, _COLUMNS, _BARS, _TAIL = 20_000, 3, 3, 50, 0.002


def place_words(evidence: RegionEvidence, region: Region, names: tuple[str, ...] = ()) -> str:
    """Where a region is, as the beginning of a sentence: "Between −0.4 and 0.3".

    Parameters
    ----------
    evidence : RegionEvidence
        Of the test.
    region : Region
        The region.
    names : tuple of str
        What the columns are called; empty for an array.
    """
    labels, view = evidence.reading.labels, _view_words(evidence, region, names)
    if labels:
        inside = [label for k, label in enumerate(labels) if (region.low < k <= region.high) == region.inside]
        return f"In {', '.join(inside)}"
    where = f"Where {view} is " if view else ""
    words = _range_words(region, evidence.reading.source.discrete, bool(view))
    return where + words if where else words.capitalize()


def _range_words(region: Region, whole: bool, named: bool) -> str:
    """The values of a view inside a region, in words that follow the name of the view where it is ``named``.

    The cuts of ``whole`` numbers lie halfway between them, and the words name the numbers inside.
    """
    low, high = region.low, region.high
    first, last = (_whole(low, 1), _whole(high)) if whole else (short(low), short(high))
    if not region.inside:
        return f"outside of {first} to {last}"
    if low == -math.inf:
        return f"at most {last}" if named else f"up to {last}"
    if high == math.inf and whole:
        return f"{first} or more" if named else f"from {first} on"
    if high == math.inf:
        return f"above {first}"
    return f"at {first}" if whole and first == last else f"between {first} and {last}"


def _whole(cut: float, beyond: int = 0) -> str:
    return str(math.floor(cut) + beyond) if math.isfinite(cut) else "0"


def _view_words(evidence: RegionEvidence, region: Region, names: tuple[str, ...]) -> str:
    """What the view is called; nothing for the one column of an array."""
    reading, d = evidence.reading, evidence.reading.source.columns
    if d == 1 and region.column is not None and not names:
        return ""
    called = names if len(names) == d else tuple(f"x{j + 1}" for j in range(d))
    families = column_families(reading.source, called)
    words = families[region.family].words[region.view] if region.family < len(families) else region.words
    return f"{words} in {reading.space}" if reading.space else words


def deciding_region(evidence: RegionEvidence, tolerated: Radius) -> Region:
    """The region that decides where this is tolerated."""
    return evidence.region(question_of(tolerated), float(tolerated.amount or 0.0))


def region_sentence(evidence: RegionEvidence, tolerated: Radius, names: tuple[str, ...]) -> str:
    """Where the region that decides is, what the model expects there, what is tolerated and what is there."""
    region, share = deciding_region(evidence, tolerated), tolerated.amount or 0.0
    words = f"{place_words(evidence, region, names)} the model expects {percent(region.expected)} of the rows"
    if share > 0.0:
        kind = percent(share) if tolerated.contamination is not None else points(share)
        words += f"; tolerating {kind}, at least {percent(region.tolerated)}"
    return f"{words}; there are {percent(region.observed)}."


def points(difference: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100.0 * difference:.3g} points"


@dataclass(frozen=True, eq=False)
class RegionExplanation(Summarized):
    """Where rows are missing, and the rows that the model does not explain.

    It describes these rows. Of clean rows, some are named with probability at most the level of the test.

    Attributes
    ----------
    points : array of int
        Rows in regions with more rows than the model explains, the most surprising region first; at most ``top``.
    blamed : list of Blame
        These regions, each with all of its rows.
    short : str
        The region that is short of rows, in words.
    names, ids : tuple of str
        What columns and rows are called.
    samples : (n, d) array
        The data.
    """

    points: NDArray[np.intp]
    blamed: list[Blame]
    short: str
    names: tuple[str, ...]
    ids: tuple[str, ...]
    samples: Floats = field(repr=False)
    _evidence: RegionEvidence = field(repr=False)

    def label(self, row: int) -> str:
        """What a row is called."""
        return Labels(self.names, self.ids).row(row)

    def values(self, row: int) -> str:
        """The values of a row."""
        labels = self._evidence.reading.labels
        if labels:
            return labels[int(self.samples[row, 0])] if self.samples[row, 0] >= 0 else "none of the categories"
        parts = [f"{name}={short(value)}" for name, value in zip(self.names, self.samples[row], strict=True)]
        return ", ".join(parts[:_COLUMNS]) + ", …" * (len(parts) > _COLUMNS)

    def sentences(self) -> list[str]:
        """What is missing, then what is too much."""
        names = self.names if self._evidence.reading.source.columns > 1 else ()
        said = [self.short]
        for found in self.blamed[:_LISTED]:
            place = place_words(self._evidence, found.region, names)
            place = place[0].lower() + place[1:]
            expected = percent(found.region.expected)
            said.append(f"Too many rows {place}: {count(len(found.rows))}, where the model expects {expected} of them.")
        return said if self.blamed else [*said, "No rows stand out."]

    def summary(self) -> str:
        """The rows, and the regions in words."""
        rows: list[Row] = [(self.label(i), self.values(i)) for i in self.points.tolist()] or [("rows", "none to name")]
        return render("Rows that the model does not explain", rows, "\n".join(self.sentences()))

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        blamed = [found.rows.tolist() for found in self.blamed]
        told = {"points": self.points.tolist(), "short": self.short, "blamed": blamed}
        return {"schema": "steinball.region-explanation/1", **told}


def explain_regions(
    evidence: RegionEvidence, short: str, level: float, data: Any, top: int, columns: tuple[str, ...]
) -> RegionExplanation:
    """The regions with too many rows, and these rows."""
    top, samples, n = check_resamples(top, "top"), evidence.reading.given, len(evidence.reading.given)
    found = evidence.once(("blame", level), lambda: blame(evidence.counted.design, evidence.reading.rows, level))
    rows = np.concatenate([one.rows for one in found]) if found else np.empty(0, dtype=np.intp)
    labels = labels_of(data, samples, np.arange(n), n, columns)
    return RegionExplanation(rows[:top], found, short, labels.names, labels.ids, samples, evidence)


@dataclass(frozen=True, eq=False)
class Profile:
    """The view that decides: its values at the rows and at draws of the model, and the region.

    Attributes
    ----------
    name : str
        The view in words.
    data, model : arrays
        Values of the view.
    region : Region
        The region.
    """

    name: str
    data: Floats
    model: Floats
    region: Region
    labels: tuple[str, ...]
    whole: bool
    caption: str

    @cached_property
    def window(self) -> tuple[float, float]:
        """Nearly all of the data and of the model."""
        if self.labels:
            return -0.5, len(self.labels) - 0.5
        both = [values[np.isfinite(values)] for values in (self.data, self.model)]
        ends = np.array([np.quantile(values, [_TAIL, 1.0 - _TAIL]) for values in both if len(values)])
        low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
        wide = float(np.ptp(ends[-1])) or 1.0  # a far outlier must not make a line of all else
        low, high = max(low, float(ends[-1, 0]) - 3.0 * wide), min(high, float(ends[-1, 1]) + 3.0 * wide)
        room = 0.05 * (high - low) or 0.5
        return (math.floor(low) - 0.5, math.ceil(high) + 0.5) if self.whole else (low - room, high + room)

    @cached_property
    def bars(self) -> tuple[Floats, Floats, Floats]:
        """Edges of cells in the window, and the shares of data and model in each."""
        low, high = self.window
        many = round(high - low) if self.whole and high - low <= _BARS else _BARS
        edges = np.linspace(low, high, many + 1)
        both = self.data, self.model
        data, model = (np.histogram(values[np.isfinite(values)], edges)[0] / len(values) for values in both)
        return edges, data, model


def profile(evidence: RegionEvidence, tolerated: Radius, names: tuple[str, ...]) -> Profile:
    """What the picture of the region that decides is drawn from."""
    region = deciding_region(evidence, tolerated)
    part, family = evidence.part_of(region)
    reading = part.reading
    cut, source = part.counted.design.cuts[family], reading.source
    at = slice(region.view, region.view + 1)
    drawn = source.draw(_DRAWN, np.random.default_rng(0)) if source.draws is None else source.draws[:_DRAWN]
    data, model = (cut.family.at(source.rows(rows), at)[0] for rows in (reading.rows, drawn))
    name = _view_words(evidence, region, names) or "x"
    caption = region_sentence(evidence, tolerated, names)
    return Profile(name, data, model, region, reading.labels, evidence.reading.source.discrete, caption)
