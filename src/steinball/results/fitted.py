"""The decision on a whole family of models."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any, ClassVar

from steinball.explain.detectable import Detectable
from steinball.results.gof import GofResult
from steinball.text import BRIEF_WIDTH, Row, count, number, short


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FitResult(GofResult):
    """The result of a test whether some member of a family fits: a :class:`GofResult`, and more.

    Attributes
    ----------
    family, fit : str
        The family, and how its parameters were estimated.
    params, standard_errors : dict
        The fitted parameters and their standard errors, by name; empty where the family does not tell them.
    known_params : dict
        Parameters that were not fitted.

    Notes
    -----
    ``rejected`` is about every member of the family. The verdict is never ``"close in KSD"`` and
    ``contamination_bound`` is 0: the model was chosen by the same data, and the bounds of a known model do
    not hold for it.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> result = sb.fit_test(np.random.default_rng(0).normal(3.0, 2.0, size=200), "normal", rng=0)
    >>> result.rejected, {name: round(value) for name, value in result.params.items()}
    (False, {'mean': 3, 'sd': 2})
    """

    family: str = ""
    fit: str = ""
    params: dict[str, float] = field(default_factory=dict)
    standard_errors: dict[str, float] = field(default_factory=dict)
    known_params: dict[str, float] = field(default_factory=dict)
    _numerical: bool = False

    schema: ClassVar[str] = "steinball.fit/1"
    _shown: ClassVar[tuple[str, ...]] = ("ksd", "radius", "family")

    @property
    def model(self) -> Any:
        """The member of the family that was tested."""
        return self._evidence.problem.model

    @property
    def title(self) -> str:
        """With the name of the family."""
        return f"Kernel Stein test of a fitted family: {self.family}"

    def summary(self, details: bool = False) -> str:
        """The fit in a line, and then the result as of every test; ``details=True``: a table of everything."""
        return super().summary(details) if details else f"{self._fit_line()}\n{super().summary()}"

    def _fit_line(self) -> str:
        """The family, its parameters with their standard errors, and n."""
        shown = list(self.params)[:_MOST_ROWS]
        told = [f"{name} {short(self.params[name])}{self._error(name)}" for name in shown]
        told += [f"{name} {short(value)} (known)" for name, value in self.known_params.items()]
        more = len(self.params) - len(shown)
        told += [f"and {more} more"] if more else []
        line = f"{self.family}, n = {count(self.n)}{': ' if told else ''}{', '.join(told)}"
        return textwrap.fill(line, BRIEF_WIDTH, subsequent_indent="  ")

    def _error(self, name: str) -> str:
        """A standard error, where there is one: a parameter at the edge of its family has none."""
        error = self.standard_errors[name]
        return f" ± {short(error)}" if math.isfinite(error) else " (at the edge of the family)"

    def smallest_detectable(self, kind: Any = "worst") -> Detectable:
        """Refused: contamination moves the fit along, and what would still be seen is not known."""
        raise TypeError(
            "`smallest_detectable` is for a model that is known: contamination moves a fitted one along. Simulate it "
            "by `steinball.power`."
        )

    def _unseen(self) -> str:
        return ""

    def rows(self) -> list[Row]:
        """The table of the summary: parameters first."""
        rows = [row for row in super().rows() if row[0] != ""]  # an interval for D would need a model that is known
        return [rows[0], *self._fitted_rows(), *rows[1:]]

    def _fitted_rows(self) -> list[Row]:
        shown = list(self.params)[:_MOST_ROWS]
        rows: list[Row] = [("fit", self.fit)]
        rows += [(name, number(self.params[name]), self._error(name).strip()) for name in shown]
        if len(self.params) > _MOST_ROWS:
            rows.append(("", f"and {len(self.params) - _MOST_ROWS} more parameters"))
        rows += [(name, number(value), "known") for name, value in self.known_params.items()]
        if self._numerical:
            rows.append(("scores", "of the parameters by finite differences"))
        return rows

    def _decided(self) -> str:
        if self.rejected:
            return f"REJECTED at level {self.level:g}: the data contradict every member of the family."
        words = f"NOT REJECTED at level {self.level:g}: the data do not contradict the family."
        return f"{words} This does not prove the model."


_MOST_ROWS = 8
