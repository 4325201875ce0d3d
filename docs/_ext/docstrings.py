"""Docstrings write ``|x|`` for a length, as the theory does; reStructuredText would look for a substitution."""

from __future__ import annotations

import re
from typing import Any

MATH = re.compile(r":math:`[^`]*`|``[^`]*``")


def escape_bars(line: str) -> str:
    """The line with every bar outside mathematics and literals escaped.

    Examples
    --------
    >>> print(escape_bars("the length |x|, and :math:`|x|`"))
    the length \\|x\\|, and :math:`|x|`
    """
    kept = MATH.findall(line)
    texts = [part.replace("|", "\\|") for part in MATH.split(line)]
    return "".join(text + other for text, other in zip(texts, [*kept, ""], strict=True))


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of a docstring, except in displayed equations and examples."""
    indented = False
    for place, line in enumerate(lines):
        indented = (indented and (not line.strip() or line.startswith("    "))) or ".. math::" in line
        if not indented and ">>>" not in line:
            lines[place] = escape_bars(line)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
