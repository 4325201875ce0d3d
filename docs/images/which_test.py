"""Draw which-test.svg, the tree of questions of docs/i-have-a.md: ``python docs/images/which_test.py``."""

from __future__ import annotations

from html import escape
from pathlib import Path

FIRST = "sb.check(x, model, tolerance=0.05), or contamination=0.05"
QUESTIONS = (
    ("Does the model predict each row from its features?", "sb.predictive_test(y, predictions, features, tolerance=ε)"),
    ("Were its parameters fitted on these rows?", 'sb.fit_test(x, "normal", contamination=ε)'),
    ("Are there several models, and which one is closer?", "sb.compare(x, {...}, contamination=ε)"),
    ("Do rows keep coming, and you look often?", "sb.SequentialTest(model, contamination=ε), sb.Monitor"),
    ("Are the rows draws of a sampler, for its posterior?", "sb.mcmc_test(draws, model)"),
    ("Are the rows a time series or a chain?", 'sb.robust_ksd_test, with dependence="auto"'),
    ("Only its score is known, and modes lie far apart?", 'sb.mode_weights_test(x, model, ε), or jumps="auto"'),
    ("Do you want the paper's test, a kernel or a radius?", "sb.robust_ksd_test(x, model, contamination=ε)"),
)
LAST = "Stay with sb.check"
WIDTH, STEP, LEFT, RIGHT, TALL = 900, 62, 390, 440, 38
STYLE = """text { font: 14px system-ui, sans-serif; fill: #1b1b1b } .code { font: 12.5px ui-monospace, monospace }
.ask { fill: #e8f1f8; stroke: #0072b2 } .call { fill: #fdf3e1; stroke: #b86b00 }
path { stroke: #555; fill: none; marker-end: url(#tip) } .word { fill: #555; font-size: 12px }"""


def box(x: int, y: int, width: int, text: str, kind: str) -> str:
    """A rounded box with one line of text."""
    font = ' class="code"' if kind == "call" else ""
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{TALL}" rx="7"/>'
        f'<text{font} x="{x + 12}" y="{y + 24}">{escape(text)}</text>'
    )


def row(index: int, question: str, call: str) -> str:
    """A question with the call for *yes* beside it and an arrow down for *no*."""
    y = 12 + STEP * (index + 1)
    middle, foot = y + TALL // 2, y + TALL
    return "\n".join(
        (
            box(10, y, LEFT, question, "ask"),
            box(RIGHT, y, WIDTH - RIGHT - 10, call, "call"),
            f'<path d="M{10 + LEFT} {middle}H{RIGHT - 8}"/>',
            f'<text class="word" x="{18 + LEFT}" y="{middle - 6}">yes</text>',
            f'<path d="M60 {foot}V{foot + STEP - TALL - 8}"/><text class="word" x="68" y="{foot + 16}">no</text>',
        )
    )


def draw() -> str:
    """The whole picture."""
    height = 12 + STEP * (len(QUESTIONS) + 1) + TALL + 12
    rows = [row(index, *pair) for index, pair in enumerate(QUESTIONS)]
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f'<style>{STYLE}</style><defs>{tip}<path d="M0 0L8 4L0 8z" style="fill:#555;stroke:none"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            box(10, 12, WIDTH - 20, FIRST, "call"),
            f'<path d="M60 {12 + TALL}V{12 + STEP - 8}"/>',
            f'<text class="word" x="68" y="{12 + TALL + 16}">Is anything special?</text>',
            *rows,
            box(10, 12 + STEP * (len(QUESTIONS) + 1), LEFT, LAST, "call"),
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    Path(__file__).with_name("which-test.svg").write_text(draw(), encoding="utf-8")
