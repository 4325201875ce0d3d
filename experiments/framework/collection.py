"""Experiments that belong together: one command, one folder of tables, one page."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.framework.base import Experiment
from experiments.framework.table import Results, read_results

__all__ = ["Collection"]


@dataclass(frozen=True, eq=False)
class Collection:
    """Experiments by name, in the order of their page.

    Attributes
    ----------
    command : str
        ``steinball COMMAND`` runs them; their rows go to ``out/COMMAND`` and their page to ``docs/COMMAND``.
    about : str
        What the command's help says of them.
    head : str
        What their page begins with.
    experiments : mapping
        Name to experiment.
    """

    command: str
    about: str
    head: str
    experiments: Mapping[str, Experiment]

    @property
    def out(self) -> Path:
        """Where the rows go unless somebody says otherwise."""
        return Path("out") / self.command

    @property
    def page(self) -> Path:
        """Where the page goes unless somebody says otherwise."""
        return Path("docs") / self.command

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name."""
        if name not in self.experiments:
            near = difflib.get_close_matches(name, self.experiments, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"`steinball {self.command} list` names them."
            raise ValueError(f"`{name}` is no experiment: {hint}")
        return self.experiments[name]

    def named(self, names: list[str]) -> list[Experiment]:
        """The experiments of these names; ``["all"]`` is all of them."""
        return list(self.experiments.values()) if names == ["all"] else [self.experiment(name) for name in names]

    def results(self, experiment: Experiment, out: Path) -> Results:
        """The tables of an experiment in a folder."""
        return read_results(out / f"{experiment.name}.csv", self.command)
