"""Experiments that belong together: one command, one folder of tables, one page."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.framework.base import Experiment
from experiments.framework.table import Results, read_results

__all__ = ["Collection", "Page"]

_REPOSITORY = Path(__file__).parents[2]

Page = Callable[[Mapping[str, Results]], str]
"""Markdown from the tables of all experiments, by name."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Experiments by name, in the order of their page.

    Attributes
    ----------
    command : str
        ``python -m experiments COMMAND`` runs them; their rows go to ``out/COMMAND`` and their page to
        ``docs/COMMAND`` of this repository.
    about : str
        What the command's help says of them.
    head : str
        What their page begins with.
    experiments : mapping
        Name to experiment.
    pages : mapping
        File name to another page beside theirs, which is made from the same tables.
    """

    command: str
    about: str
    head: str
    experiments: Mapping[str, Experiment]
    pages: Mapping[str, Page] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        """Where the rows go unless somebody says otherwise."""
        return _REPOSITORY / "out" / self.command

    @property
    def page(self) -> Path:
        """Where the page goes unless somebody says otherwise."""
        return _REPOSITORY / "docs" / self.command

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name."""
        if name not in self.experiments:
            near = difflib.get_close_matches(name, self.experiments, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"`python -m experiments {self.command} list` names them."
            raise ValueError(f"`{name}` is no experiment: {hint}")
        return self.experiments[name]

    def named(self, names: list[str]) -> list[Experiment]:
        """The experiments of these names; ``["all"]`` is all of them."""
        return list(self.experiments.values()) if names == ["all"] else [self.experiment(name) for name in names]

    def results(self, experiment: Experiment, out: Path) -> Results:
        """The tables of an experiment in a folder."""
        path = out / f"{experiment.name}.csv"
        if not path.exists():
            remedy = f"run `python -m experiments {self.command} run {experiment.name}` first"
            raise FileNotFoundError(errno.ENOENT, f"there is no table; {remedy}", str(path))
        return read_results(path)
