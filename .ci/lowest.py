"""Constraints for pip that pin every dependency of the library to the lowest release that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

LOWER_BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>[\d.]+)")


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """``numpy>=2.0`` to ``numpy==2.0``; whatever has no lower bound is an error.

    Examples
    --------
    >>> list(lowest(["numpy>=2.0", "dask[distributed]>=2024.8"]))
    ['numpy==2.0', 'dask==2024.8']
    """
    for requirement in requirements:
        found = LOWER_BOUND.fullmatch(requirement)
        if found is None:
            raise ValueError(f"`{requirement}` has no plain lower bound; write it as `name>=version`.")
        yield f"{found['name']}=={found['version']}"


def main() -> None:
    """Print the constraints, required dependencies and extras alike."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    print("\n".join(lowest([*project["dependencies"], *extras])))


if __name__ == "__main__":
    main()
