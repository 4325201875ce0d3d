"""Docstrings and signatures as the site shows them.

Docstrings write ``|x|`` for a length, as the theory does, where reStructuredText would look for a substitution. The
fields of a dataclass that begin with an underscore are nobody's to pass. A parameter that is described "as in" another
function is described in full, the fields of a result are a table with those of its bases, and each entry ends with
what ``related.py`` knows of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from related import related

import steinball

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


SECTION = re.compile(r"^-{3,}$")
AS_IN = re.compile(r"As in :func:`[\w.]*?(\w+)`[;.]?\s*(.*)", re.DOTALL)
Entry = tuple[str, str, list[str]]
"""Names, type and lines of a parameter or of an attribute."""


def section_of(lines: list[str], title: str) -> tuple[int, int]:
    """Where the lines of a section begin and end; (0, 0) where there is none."""
    heads = [k - 1 for k, line in enumerate(lines) if SECTION.match(line)] + [len(lines)]
    first = next((k for k in heads[:-1] if lines[k] == title), None)
    return (0, 0) if first is None else (first + 2, heads[heads.index(first) + 1])


def entries_in(lines: list[str], title: str) -> Iterator[Entry]:
    """The entries of a section of a docstring."""
    head, body = "", list[str]()
    for line in [*lines[slice(*section_of(lines, title))], "end"]:
        if line and not line.startswith(" "):
            if head:
                names, _, kind = head.partition(" : ")
                yield names, kind, [text.strip() for text in body if text.strip()]
            head, body = line, []
        else:
            body.append(line)


def parameters_of(lines: list[str]) -> Iterator[Entry]:
    """The parameters of a docstring, each that another function describes with its own text."""
    for names, kind, text in entries_in(lines, "Parameters"):
        taken = AS_IN.match(" ".join(text))
        known: dict[str, Entry] = {}
        if taken:
            other = (inspect.getdoc(getattr(steinball, taken[1], None)) or "").splitlines()
            known = {name: found for found in parameters_of(other) for name in found[0].split(", ")}
        if not known:
            yield names, kind, text
            continue
        for name in (parts := names.split(", ")):
            _, type_, words = known.get(name, (name, "", [f"As in `{taken[1]}`."]))  # type: ignore[index]
            remark = [taken[2]] if taken[2] and (f"``{name}``" in taken[2] or name == parts[-1]) else []  # type: ignore[index]
            yield name, type_, [*words, *remark]


def expand_parameters(lines: list[str]) -> None:
    """Write every parameter in full."""
    first, last = section_of(lines, "Parameters")
    if any(AS_IN.match(line.strip()) for line in lines[first:last]):
        told = [
            [f"{name} : {kind}".rstrip(" :"), *(f"    {line}" for line in text)]
            for name, kind, text in parameters_of(lines)
        ]
        lines[first:last] = [line for part in told for line in part] + [""]


def fields_of(thing: type) -> list[Entry]:
    """The attributes that a class and its bases describe, those of the bases first."""
    docs = [(vars(base).get("__doc__") or "") for base in reversed(thing.__mro__)]
    found = [entry for doc in docs for entry in entries_in(inspect.cleandoc(doc).splitlines(), "Attributes")]
    return list({entry[0]: entry for entry in found}.values())


def tabulate_fields(thing: Any, lines: list[str]) -> None:
    """The fields of a class as a table, in place of a list."""
    entries = fields_of(thing)
    first, last = section_of(lines, "Attributes")
    if last:
        del lines[first - 2 : last]
    if entries:
        table = [".. list-table:: Fields", "   :class: fields", "   :header-rows: 1", "   :widths: 26 18 56", ""]
        for cells in [("name", "type", ["meaning"]), *((f"``{names}``", kind, text) for names, kind, text in entries)]:
            name, kind, text = cells
            table += [f"   * - {name}", f"     - {escape_bars(kind)}", f"     - {escape_bars(' '.join(text))}"]
        place = next((k - 1 for k, line in enumerate(lines) if SECTION.match(line)), len(lines))
        lines[place:place] = [*table, ""]


def add_related(name: str, lines: list[str]) -> None:
    """See Also and References at the end, where the docstring has none of its own."""
    seen, pages, literature = related(name.removeprefix("steinball."))
    told = [f":doc:`/theory/{page}`, with proofs" for page in pages] + literature
    if seen and "See Also" not in lines:
        lines += ["", "See Also", "--------", *(f"steinball.{other}" for other in seen)]
    if told and "References" not in lines:
        lines += ["", "References", "----------", *(f"- {line}" for line in told)]


def complete(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add to a docstring what other docstrings and ``related.py`` know, before numpydoc reads it."""
    expand_parameters(lines)
    if what in ("class", "exception"):
        tabulate_fields(thing, lines)
    add_related(name, lines)


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
    app.connect("autodoc-process-docstring", complete, priority=400)
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", show_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
