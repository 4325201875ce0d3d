"""Docstrings and signatures as the site shows them.

Docstrings write ``|x|`` for a length, as the theory does, where reStructuredText would look for a substitution. The
fields of a dataclass that begin with an underscore are nobody's to pass.
"""

from __future__ import annotations

import re
from typing import Any

PRIVATE = re.compile(r"(?:, )?\b_\w+(?:: [^,=)]+)?(?:=(?:<[^>]*>|'[^']*'|[^,)]*))?")
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


def show_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A signature without private fields."""
    return (None if signature is None else PRIVATE.sub("", signature)), returns


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", show_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
