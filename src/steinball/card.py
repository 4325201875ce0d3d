"""A result as a card for notebooks: plain HTML with its own style, readable on light and on dark ground."""

from __future__ import annotations

import html
from collections.abc import Sequence

from steinball.text import Row

__all__ = ["card", "table"]

# Okabe and Ito's colors, which people who see colors differently can tell apart; the words say the same.
_COLORS = {"MISFIT": "#E8853D", "REJECTED": "#E8853D", "GOOD ENOUGH": "#33B892"}
_OTHER = "#E6B84A"
_BOX = "border:1px solid rgba(128,128,128,.4);border-left:6px solid {};border-radius:6px;padding:.6em 1em;max-width:9in"
_CHIP = "background:{};color:#000;border-radius:4px;padding:.1em .5em;font-weight:700"
_CELL = "text-align:left;vertical-align:top;padding:.15em .9em .15em 0;background:transparent;border:0"


def card(word: str, title: str, sentence: str, rows: Sequence[Row] = (), note: str = "details", body: str = "") -> str:
    """The word that decides, what it means, what it is about, and a table to unfold; ``body`` is HTML above the words.

    Examples
    --------
    >>> page = card("MISFIT", "A <test>", "The data contradict the model.", [("D", "0.1")])
    >>> "MISFIT" in page, "A &lt;test&gt;" in page
    (True, True)
    """
    color = _COLORS.get(word, _OTHER)
    chip = f'<span style="{_CHIP.format(color)}">{html.escape(word)}</span> ' if word else ""
    first, *others = [html.escape(part) for part in sentence.split("\n")]
    paragraphs = "".join(f'<p style="margin:.4em 0">{part}</p>' for part in (chip + first, *others) if part)
    about = f'<p style="margin:0;opacity:.75">{html.escape(title)}</p>'
    fold = f"<details><summary>{html.escape(note)}</summary>{table(rows)}</details>" if rows else ""
    return f'<div class="steinball-card" style="{_BOX.format(color)}">{about}{body}{paragraphs}{fold}</div>'


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Rows of text as a table; what is short is filled up.

    Examples
    --------
    >>> table([("a", "<b>")]).count("&lt;b&gt;")
    1
    """
    width = max((len(row) for row in (*rows, heads)), default=0)
    lines = [_line(heads, width, "th")] if heads else []
    lines += [_line(row, width, "td") for row in rows]
    return f'<table style="border-collapse:collapse;margin:.4em 0">{"".join(lines)}</table>'


def _line(row: Sequence[str], width: int, cell: str) -> str:
    cells = (*row, *[""] * (width - len(row)))
    return "<tr>" + "".join(f'<{cell} style="{_CELL}">{html.escape(text)}</{cell}>' for text in cells) + "</tr>"
