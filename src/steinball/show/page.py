"""One page of HTML to hand over: the verdict first, and nothing that is loaded from anywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from steinball.files import write_whole
from steinball.record import versions
from steinball.results.base import Result
from steinball.results.comparison import NOT_CLOSE, ComparisonResult
from steinball.sequential.monitor import Monitor
from steinball.show.panels import COMPARISON, tolerance_frame, words_of
from steinball.show.pictures import PICTURES, can_slide, possible_pictures
from steinball.show.svg import Frame, ends_of, figure_of, safe
from steinball.show.view import Scene
from steinball.text import CONTAMINATED, Row, number, percent, short

_LARGEST_LEVEL, _FEW = 0.25, 100
_PER_MILLE = 1000  # positions of a slider for shares and levels, from 0 to 1


def numbers_of(scene: Scene) -> dict[str, Any]:
    """All that the sliders need; exact numbers, so that the page decides as the library does.

    Of each position of the slider for the level, which begins where the draws can reject: the upper bound of the
    misfit, and whether anything can be rejected. The last one is the level of the test.
    """
    result, evidence = scene.result, scene.result._evidence
    first = math.ceil(_PER_MILLE / (evidence.n_resamples + 1) - 1e-9) if evidence.n_resamples else 1
    last = max(first, math.ceil(_PER_MILLE * max(_LARGEST_LEVEL, result.level) - 1e-9))
    positions = [*(k / _PER_MILLE for k in range(first, last + 1)), result.level]
    levels = {"first": first, "upper": _numbers(map(evidence.upper_bound, positions))}
    levels["decidable"] = list(map(evidence.decidable, positions))
    zero, slider = result._headline().endswith("REJECTED"), _tolerances(scene) if can_slide(result) else None
    return {"level": result.level, "pvalue": result.pvalue, "zero": zero, "levels": levels, "slider": slider}


def _tolerances(scene: Scene) -> dict[str, Any]:
    """The slider for the tolerance, and p-value and limit at each of its positions.

    It ends at half of the data, or at all of them where that much is at stake; for distances beyond all zones. A test
    without draws takes longer at each position, and has fewer.
    """
    zones, evidence, most, many = scene.zones, scene.result._evidence, 2.0 * scene.zones.end, _PER_MILLE
    if zones.kind.in_percent:
        most = 0.5 if max(zones.end, zones.own) <= 0.5 else 1.0
        many = round(most * _PER_MILLE)
    step = most / (many if evidence.n_resamples else _FEW)
    amounts = np.array([float(f"{k * step:.12g}") for k in range(round(most / step) + 1)])
    curve = evidence.curve(zones.kind, amounts, scene.result.level)
    limits = _numbers(evidence.limits(zones.kind, np.append(amounts, zones.own)))
    slider = {"label": zones.kind.axis.capitalize(), "percent": zones.kind.in_percent, "close": zones.curve.close}
    slider |= {"own": zones.own, "end": zones.end, "most": most, "step": step}
    slider |= {"frame": ends_of(tolerance_frame(scene)), "pvalues": _numbers(curve.pvalues)}
    return slider | {"limits": limits[:-1], "limit": limits[-1]}


def _numbers(values: Iterable[float]) -> list[float]:
    """Numbers for JSON, which knows nothing infinite: the largest float stands for that."""
    return [float(value) for value in np.nan_to_num(list(values))]


def as_json(values: Any) -> str:
    """JSON that may stand inside of a page: nothing in it can end the element that it stands in.

    Examples
    --------
    >>> as_json({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    return json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


_COLUMNS, _BLAMED = 8, 20
_DESCRIBES = "This describes these data; it is not a confidence statement."


def write_report(result: Result, path: str | Path, *, data: Any = None, title: str = "") -> Path:
    """Write the page of a result."""
    scene, told = Scene(result, data), possible_pictures(result)
    parts = [
        head_of(result, title),
        _file("live.html").format(numbers=as_json(numbers_of(scene)), script=_file("page.js")),
        panel_section(picture.frame(scene) for picture in map(PICTURES.__getitem__, told) if picture.frame),
        _points(scene) if "data" in told else _blamed(scene) if "regions" in told else "",
        section("detectable", "What could have been detected", _paragraphs([result._detectable()])),
        warnings_of(result),
        computed(result),
    ]
    return write_page(path, title or result.title, parts)


def write_comparison(result: ComparisonResult, path: str | Path, title: str = "") -> Path:
    """Write the page of a comparison."""
    note = f"{NOT_CLOSE} MMD is the maximum mean discrepancy, by one kernel for all models."
    closer = [pair.closer or "no difference shown" for pair in result.pairs]
    told = zip(result.pairs, closer, strict=True)
    rows = [[words_of(pair), found, *map(short, (pair.pvalue, *pair.interval))] for pair, found in told]
    parts = [
        head_of(result, title),
        panel_section(frame(result) for frame in COMPARISON.values()),
        section("pairs", "Every pair", table_of(["first, second", "closer", "p-value", "from", "to"], rows)),
        warnings_of(result),
        computed(result, note),
    ]
    return write_page(path, title or result.title, parts)


def write_monitor(monitor: Monitor, path: str | Path, title: str = "") -> Path:
    """Write the page of a monitor: :meth:`steinball.Monitor.report`."""
    (word, rows, sentence), title = monitor._summarized(), title or "Monitor of a feed"
    alarms = [
        [f"{alarm.row:,}", number(alarm.wealth), "the whole row" if alarm.column is None else str(alarm.column + 1)]
        for alarm in monitor.alarms
    ]
    parts = [
        head(title, word, sentence.removeprefix(word).strip()),
        panel_section([_evidence(monitor)]),
        section("alarms", "Last alarms", table_of(["row", "evidence", "column"], alarms)) if alarms else "",
        section("computed", "State", facts(rows)),
    ]
    return write_page(path, title, parts)


def _evidence(monitor: Monitor) -> Frame:
    n, log_wealth = monitor.history
    height, threshold = log_wealth / math.log(10.0), math.log10(monitor.expected_run)
    x, low = (0.0, max(float(monitor.n), 1.0)), min(0.0, float(height.min(initial=0.0)))
    y = low, 1.1 * max(threshold, float(height.max(initial=0.0)))
    caption = "The evidence since the last alarm, in powers of ten; dashed: where an alarm is raised."
    frame = Frame(x, y, ("number of rows", "powers of ten"), "", caption)
    frame.line(frame.x, threshold, "level")
    frame.line(n, height, "model")
    return frame


def write_page(path: str | Path, title: str, sections: Iterable[str]) -> Path:
    """Write a document with this title and these sections, in the style of all pages."""
    page = _file("page.html").format(title=safe(title), style=_file("page.css"), body="".join(sections))
    write_whole(path, page.encode())
    return Path(path)


def _file(name: str) -> str:
    return files("steinball.show").joinpath(name).read_text("utf-8")


def head_of(result: Any, title: str) -> str:
    """The verdict in plain words, and the numbers behind it."""
    sentences, numbers = result._brief()
    words = f"at level {result.level:g}. {' '.join(sentences)}"
    return head(title or result.title, result._headline(), words, filter(None, numbers))


def head(title: str, verdict: str, words: str, numbers: Iterable[str] = ()) -> str:
    """The top of a page."""
    chip = f'<span class="chip" data-verdict="{safe(verdict)}">{safe(verdict)}</span>'
    return (
        f'<header>\n<h1>{safe(title)}</h1>\n<p class="lead">{chip} {safe(words)}</p>\n'
        f'<p class="small">{safe(" · ".join(numbers))}</p>\n</header>\n'
    )


def panel_section(frames: Iterable[Frame]) -> str:
    """Pictures side by side, where there is room."""
    figures = "".join(map(figure_of, frames))
    return f'<section class="panels">\n{figures}</section>\n'


def section(name: str, heading: str, body: str) -> str:
    """A part of a page with a heading."""
    return f'<section id="{name}">\n<h2>{heading}</h2>\n{body}</section>\n'


def _points(scene: Scene) -> str:
    """The responsible points, the far ones, and the columns."""
    found = scene.explanation
    names = found.names[:_COLUMNS]
    told = zip(found.points.tolist(), map(percent, found.shares(found.points).tolist()), strict=True)
    rows = [
        [found.label(i), share, number(found.influence.ksd[i]), *map(number, found.samples[i][:_COLUMNS])]
        for i, share in told
    ]
    body = table_of(["point", "share of D²", "D without it", *names], rows) + _paragraphs(found._sentences())
    cut = f"{len(names)} of {len(found.names)} columns are shown. " if len(found.names) > _COLUMNS else ""
    return section("points", "Most responsible points", f'{body}<p class="small">{cut}{_DESCRIBES}</p>\n')


def _blamed(scene: Scene) -> str:
    """The rows that the model does not explain, and the regions in words."""
    found: Any = scene.result.explain(scene.data, top=_BLAMED)
    rows = [[found.label(i), found.values(i)] for i in found.points.tolist()]
    body = _paragraphs(found.sentences()) + (table_of(["row", "values"], rows) if rows else "")
    return section("points", "Rows that the model does not explain", f'{body}<p class="small">{_DESCRIBES}</p>\n')


def _paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{safe(sentence)}</p>\n" for sentence in sentences)


def table_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls by itself where it is too wide."""
    body = "".join(_line(row, "td") for row in rows)
    return f'<div class="scroll"><table>\n<thead>{_line(heads, "th")}</thead>\n<tbody>{body}</tbody>\n</table></div>\n'


def _line(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{safe(cell)}</{tag}>' for cell in cells)}</tr>\n"


def warnings_of(result: Any) -> str:
    """Every warning that was given."""
    given = result._record.warnings
    listed = "".join(f"<li>{safe(warning)}</li>\n" for warning in given)
    return section("warnings", "Warnings", f"<ul>\n{listed}</ul>\n" if given else "<p>None were given.</p>\n")


def computed(result: Any, note: str = CONTAMINATED) -> str:
    """How a result was computed, so that somebody else can repeat it."""
    body = facts(result.rows(), result._record.call)
    return section("computed", "How it was computed", f'{body}<p class="small">{safe(f"{result.title}. {note}")}</p>\n')


def facts(rows: Iterable[Row], call: str = "") -> str:
    """A table of labels and values, the call first and the versions last."""
    told = [*rows, ("versions", ", ".join(f"{name} {version}" for name, version in versions().items()))]
    body = "".join(f"<tr><th>{safe(label)}</th><td>{safe(' · '.join(rest))}</td></tr>\n" for label, *rest in told)
    how = f"<tr><th>call</th><td><code>{safe(call)}</code></td></tr>\n" if call else ""
    return f'<table class="facts">\n{how}{body}</table>\n'
