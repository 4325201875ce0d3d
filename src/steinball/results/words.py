"""Results of the competitors in words: a title, a table, a sentence."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

__all__ = ["WIDTH", "render", "short"]

WIDTH = 80
"""Columns of a summary."""


def render(title: str, rows: list[tuple[str, str]], sentence: str) -> str:
    """A title, a table of labels and values, and what it means, wrapped at :data:`WIDTH` columns."""
    labels = max(len(label) for label, _ in rows)
    lines = [title]
    for label, value in rows:
        head = f"  {label:<{labels}}  "
        lines += textwrap.wrap(value, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join([*lines, "", *textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")])


def short(thing: Any) -> str:
    """A kernel or tilt with its numbers in four digits, and without what is left at ``None``.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> short(Gaussian(lengthscale=2 / 3))
    'Gaussian(lengthscale=0.6667)'
    """
    if isinstance(thing, (int, float)):
        return f"{thing:.4g}"
    if isinstance(thing, np.ndarray):
        return f"<{' × '.join(map(str, thing.shape))} numbers>" if thing.size > 1 else f"{thing.item():.4g}"
    if not dataclasses.is_dataclass(thing):
        return repr(thing)
    fields = ((field.name, getattr(thing, field.name)) for field in dataclasses.fields(thing))
    parts = ", ".join(f"{name}={short(value)}" for name, value in fields if value is not None)
    return f"{type(thing).__name__}({parts})"
