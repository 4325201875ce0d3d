"""What an adapter says of objects that have no score, or that can be read in two ways."""

from __future__ import annotations

from typing import NoReturn


def discrete(name: str) -> NoReturn:
    """Refuse a distribution on separate points."""
    raise TypeError(
        f"`model` is an object of type {name}, a discrete distribution, which has no score ∇log p. Use a test for "
        "counts, such as a chi-squared test; or, where the counts are large, test a density by "
        "`radius=sb.Wasserstein.rounding(1.0)`."
    )


def not_a_box(name: str, where: str) -> NoReturn:
    """Refuse a distribution on a set that is no box of the space that its points are written in."""
    raise TypeError(
        f"`model` is an object of type {name}, a distribution on {where}, which has no density over the columns of the "
        "data. Map the data to a space without constraints first, and test the density there, Jacobian included, by "
        "`sb.from_log_density`."
    )


def on_the_line(name: str, columns: int, example: str) -> NoReturn:
    """Refuse a distribution of one number for data of several columns."""
    raise ValueError(
        f"`model` is {name}, a distribution of one number, and `samples` has {columns} columns. If the columns are "
        f"independent and each has this distribution, say so: `{example}`; otherwise test one column, or bring a joint "
        "distribution."
    )


def several(name: str, batch: tuple[int, ...], remedy: str) -> NoReturn:
    """Refuse a batch of distributions: it can be one of independent columns, or several alternatives."""
    raise ValueError(
        f"`model` is a batch of {'×'.join(map(str, batch))} distributions {name}. If its entries are independent "
        f"columns of one distribution, say so: `{remedy}`; if they are several distributions, pass one of them."
    )
