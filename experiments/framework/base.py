"""What an experiment is: a grid, a trial, expectations and a figure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.framework.expectations import Expectation
from experiments.framework.table import Curve, Results

__all__ = ["PUBLISHED", "TEXT", "Cell", "Drawing", "Experiment", "Row", "Trial", "no_curves"]

Cell = Mapping[str, Any]
"""One setting of an experiment, in the words of the table's grid columns."""

Row = dict[str, Any]
"""One decision: the columns of the table by name; what is missing does not apply."""

Trial = Callable[[Cell, np.random.Generator], list[Row]]

PUBLISHED = "published"
TEXT = "text"


def no_curves(variant: str) -> list[Curve]:
    """For an experiment whose figure shows rates alone."""
    return []


def all_repeats(cell: Cell) -> float:
    """For an experiment whose cells all have its number of repeats."""
    return math.inf


def no_extra(results: Results) -> str:
    """For an experiment whose page needs no table of its own."""
    return ""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure: how its files are called, what it shows, and how it is drawn from the tables."""

    name: str
    title: str
    draw: Callable[[Results, Any], None]
    size: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One figure of the paper, or one piece of evidence.

    Attributes
    ----------
    name, title, reference : str
        How it is called, what it is about, and where in the paper it stands.
    figure : str
        The number of the paper's figure; empty where it has none.
    setup : str
        Kernel and draws, for the line of settings; sample sizes, repeats and seed are added to it from the grid.
    says : str
        What the paper says of it, in our words.
    grid : tuple of cells
        A cell is seeded by its position here. What one Gram matrix answers at once (tolerances, levels) is not a cell
        of its own: the trial expands it into rows.
    trial : callable
        ``trial(cell, rng)`` draws one sample and gives one row per test. ``cell["variant"]`` says which variant.
    repeats : int
        How often every cell is repeated; the paper's number, for a figure of the paper.
    expectations : tuple of Expectation
        Claims about the table that can fail.
    draw : callable
        ``draw(results, figure)`` draws from the tables alone.
    more : tuple of Drawing
        Figures of their own for what the paper's figure does not show.
    curves : callable
        ``curves(variant)`` gives what the figure shows beside rates: densities, samples, Stein kernels.
    variants : mapping
        Name to what it changes; the first is the default.
    always : tuple of str
        The variants that are run when none is named.
    differences : str
        Where text, published curve and our table differ, and why.
    explanations : mapping
        Label of a finding that misses, to the written reason.
    extra : callable
        ``extra(results)`` gives Markdown that the page shows below the claims, from the tables alone.
    size : (width, height)
        Of the figure, in inches.
    most : callable
        ``most(cell)`` gives the most repeats of a cell, for cells that take long.
    again : int
        Where a rate misses its claim, its cell is extended to so many repeats before the miss counts; 0 for never.
    """

    name: str
    title: str
    reference: str
    says: str
    grid: tuple[Cell, ...]
    trial: Trial
    repeats: int
    expectations: tuple[Expectation, ...]
    draw: Callable[[Results, Any], None]
    curves: Callable[[str], list[Curve]] = no_curves
    variants: Mapping[str, str] = field(default_factory=lambda: {PUBLISHED: "as in the published figure"})
    always: tuple[str, ...] = (PUBLISHED,)
    differences: str = ""
    explanations: Mapping[str, str] = field(default_factory=dict)
    extra: Callable[[Results], str] = no_extra
    size: tuple[float, float] = (7.0, 3.2)
    most: Callable[[Cell], float] = all_repeats
    again: int = 0
    figure: str = ""
    setup: str = ""
    more: tuple[Drawing, ...] = ()

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """Its own figure first, then the others."""
        return (Drawing(self.name, self.title, self.draw, self.size), *self.more)

    @property
    def where(self) -> str:
        """Figure and section of the paper, or the page with the theory, as a link."""
        text = ", ".join(part for part in (self.figure, self.reference) if part)
        return re.sub(r"(?:docs/)?(theory/)?([\w-]+)\.md", r"[\2](../\1\2.md)", text)

    @property
    def published(self) -> list[tuple[Mapping[str, Any], float]]:
        """Every rate that the paper prints or draws, with its cell."""
        return [point for expectation in self.expectations for point in expectation.rates]

    @property
    def axes(self) -> tuple[str, ...]:
        """The grid columns that tell cells apart; every row of a trial carries them as its cell has them."""
        names = dict.fromkeys(name for cell in self.grid for name in cell)
        return tuple(name for name in names if len({str(cell.get(name)) for cell in self.grid}) > 1)

    def cell(self, index: int, variant: str) -> Cell:
        """The cell at a position of the grid, for one variant."""
        return {**self.grid[index], "variant": variant}

    def check_variant(self, variant: str) -> str:
        """``variant``, if there is one of that name."""
        if variant not in self.variants:
            known = ", ".join(self.variants)
            raise ValueError(f"`variant` of {self.name} must be one of {known}, got `{variant}`.")
        return variant
