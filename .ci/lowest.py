"""Every dependency at the lowest release that pyproject.toml allows: ``python .ci/lowest.py [EXTRA...]``."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

LOWER_BOUND = re.compile(r"([\w.-]+(?:\[[\w,-]+\])?)>=([\d.]+)")


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """The requirements with equality in place of their lower bounds.

    Examples
    --------
    >>> list(lowest(["numpy>=2.0", "dask[distributed]>=2024.8"]))
    ['numpy==2.0', 'dask[distributed]==2024.8']
    """
    for requirement in requirements:
        found = LOWER_BOUND.fullmatch(requirement)
        if found is None:
            raise ValueError(f"`{requirement}` has no plain lower bound; write it as `name>=version`.")
        yield "==".join(found.groups())


def main() -> None:
    """Print the required dependencies and those of the extras that are named."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [requirement for name in sys.argv[1:] for requirement in project["optional-dependencies"][name]]
    print("\n".join(lowest([*project["dependencies"], *extras])))


if __name__ == "__main__":
    main()
