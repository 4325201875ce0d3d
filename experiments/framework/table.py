"""The tables: rows on disk, rates from rows, and the curves that figures show beside them."""

from __future__ import annotations

import codecs
import csv
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.files import whole_file

__all__ = ["COLUMNS", "GRID", "Curve", "Rate", "Rates", "Results", "as_text", "read_results", "wilson", "write_rates"]

GRID = (
    "contamination", "tolerance", "outlier", "bandwidth", "exponent", "df", "df0", "shift", "reference_shift",
    "dimension", "separation", "offset", "n", "rate", "noise", "bootstrap", "kind", "strategy",
)  # fmt: skip
MEASURED = ("rejected", "pvalue", "ksd", "radius", "tau", "seconds")
COLUMNS = ("test", "repeat", *MEASURED, "variant", *GRID)

_KEYS = ("variant", "test", *GRID)
_AVERAGED = ("rejected", "ksd", "radius", "tau", "seconds")
_MOMENTS = ("ksd", "ksd_sd", "radius", "tau", "tau_sd", "seconds")
_SUMMARY = ("repeats", "rejections", "rejection_rate", "low", "high", *_MOMENTS)
_RATE_COLUMNS = (*_KEYS, *_SUMMARY)
_CURVE_COLUMNS = ("panel", "series", "x", "y", "value")

Record = dict[str, str]


def as_text(value: Any) -> str:
    """A grid value as the table has it: one text per value, whatever type it came as.

    Examples
    --------
    >>> as_text(None), as_text(10.0), as_text(0.05), as_text("median")
    ('', '10', '0.05', 'median')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return format(float(value), ".12g")


def as_record(row: Mapping[str, Any]) -> Record:
    """A row of a trial as texts, column by column."""
    unknown = set(row) - set(COLUMNS)
    if unknown:
        raise ValueError(f"a row has columns that the table does not: {', '.join(sorted(unknown))}.")
    record = {name: as_text(row.get(name)) for name in COLUMNS}
    for name in MEASURED[1:]:
        value = row.get(name)
        record[name] = "" if value is None else repr(round(float(value), 12))
    return record


def wilson(successes: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson interval of a binomial share: 95 % by default.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0, 100)], [round(end, 3) for end in wilson(50, 100)]
    ([0.0, 0.037], [0.404, 0.596])
    """
    if trials == 0:
        return 0.0, 1.0
    share, z2 = successes / trials, z * z / trials
    center, half = share + z2 / 2.0, z * math.sqrt(share * (1.0 - share) / trials + z2 / (4.0 * trials))
    low, high = (center - half) / (1.0 + z2), (center + half) / (1.0 + z2)
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


@dataclass(frozen=True)
class Rate:
    """All repeats of one test in one cell."""

    where: Mapping[str, str]
    repeats: int
    rejections: int
    ksd: float
    ksd_sd: float
    radius: float
    tau: float
    tau_sd: float
    seconds: float

    @property
    def rate(self) -> float:
        """The share of repeats that were rejected."""
        return self.rejections / self.repeats

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rejection probability."""
        return wilson(self.rejections, self.repeats)

    def number(self, name: str) -> float:
        """A grid value as a number; NaN for a word or nothing."""
        try:
            return float(self.where[name])
        except ValueError:
            return math.nan


@dataclass(frozen=True)
class Rates:
    """The aggregated table."""

    rows: tuple[Rate, ...]

    def __iter__(self) -> Iterator[Rate]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, **where: Any) -> Rates:
        """The rows with these values; ``None`` means empty."""
        names, texts = tuple(where), tuple(as_text(value) for value in where.values())
        if names not in self._indexes:
            self._indexes[names] = self._index(names)
        return Rates(tuple(self._indexes[names].get(texts, ())))

    @cached_property
    def _indexes(self) -> dict[tuple[str, ...], dict[tuple[str, ...], list[Rate]]]:
        """Rows by their values of some columns: a check of a thousand cells asks for as many rows."""
        return {}

    def _index(self, names: tuple[str, ...]) -> dict[tuple[str, ...], list[Rate]]:
        index: dict[tuple[str, ...], list[Rate]] = {}
        for row in self.rows:
            index.setdefault(tuple(row.where[name] for name in names), []).append(row)
        return index

    def one(self, **where: Any) -> Rate:
        """The one row with these values."""
        found = self.select(**where)
        if len(found) != 1:
            described = ", ".join(f"{name}={as_text(value)}" for name, value in where.items())
            raise ValueError(f"the table has {len(found)} rows with {described}, not one; run the experiment again.")
        return found.rows[0]

    def along(self, axis: str) -> list[Rate]:
        """The rows in increasing order of a numeric grid value."""
        return sorted(self.rows, key=lambda r: r.number(axis))

    def values(self, axis: str) -> list[str]:
        """The different values of a column: numbers in order, then words."""
        texts = dict.fromkeys(r.where[axis] for r in self.rows)
        return sorted(texts, key=_number_first)


def _number_first(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


@dataclass(frozen=True)
class Curve:
    """Something that a figure shows beside rates: points (x, y), values over x, or values over (x, y)."""

    panel: str
    series: str
    x: Sequence[float] | NDArray[np.float64]
    y: Sequence[float] | NDArray[np.float64] | None = None
    value: Sequence[float] | NDArray[np.float64] | None = None

    def records(self) -> Iterator[Record]:
        """One record per point."""
        for i, x in enumerate(self.x):
            y = "" if self.y is None else repr(round(float(self.y[i]), 9))
            value = "" if self.value is None else repr(round(float(self.value[i]), 9))
            yield dict(zip(_CURVE_COLUMNS, (self.panel, self.series, repr(round(float(x), 9)), y, value), strict=True))


@dataclass(frozen=True)
class Results:
    """The tables of one experiment."""

    rates: Rates
    curves: tuple[Curve, ...] = ()

    def variant(self, name: str) -> Results:
        """The tables of one variant alone; curves belong to all."""
        return Results(self.rates.select(variant=name), self.curves)

    def fill_in(self, text: str) -> str:
        """The text with each ``{rate: test=r-ksd, n=20}`` replaced by that number of the table.

        Also ``ksd`` and ``tau``, which are means; the variant is ``published`` unless the braces name another.
        """

        def number(match: re.Match[str]) -> str:
            cell = dict(part.split("=") for part in match.group(2).split(", "))
            return f"{getattr(self.rates.one(**{'variant': 'published', **cell}), match.group(1)):.3f}"

        return re.sub(r"\{(rate|ksd|tau): ([^{}]+)\}", number, text)

    def panel(self, name: str) -> dict[str, Curve]:
        """The curves of a panel, by series."""
        return {curve.series: curve for curve in self.curves if curve.panel == name}


def records_in(path: Path) -> Iterator[Record]:
    """The rows of a CSV file as texts, one at a time: a table of rows may be larger than memory likes.

    A last row without its end is left out: whoever was writing it was stopped.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(line for line in lines if line.endswith("\n"))


def single_records(path: Path) -> Iterator[Record]:
    """The same for the rows of a run; refuse rows that are there twice, as two runs at once would leave them."""
    repeats: dict[tuple[str, ...], array[int]] = {}
    for record in records_in(path):
        key = tuple(record.get(name, "") for name in _KEYS)
        repeats.setdefault(key, array("l")).append(int(record["repeat"]))
        yield record
    if any(len(set(found)) < len(found) for found in repeats.values()):
        raise ValueError(f"`{path}` has rows twice, which are no independent repeats. Remove it, and run again.")


def read_records(path: Path) -> list[Record]:
    """The rows of a CSV file as texts."""
    return list(records_in(path))


def header_of(path: Path) -> tuple[str, ...]:
    """The columns of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(next(csv.reader(lines), ()))


def write_records(path: Path, columns: Sequence[str], records: Iterable[Record]) -> None:
    """A whole CSV file at once: either the old one or the new one is there, never a part."""
    with whole_file(path) as file:
        writer = csv.DictWriter(codecs.getwriter("utf-8")(file), columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def sort_records(path: Path, place: Callable[[Record], Any]) -> None:
    """The rows of a CSV file put in the order of ``place``; they are moved as lines, which are small."""
    places = [place(record) for record in records_in(path)]
    with path.open("rb") as lines, whole_file(path) as file:
        file.write(next(lines))
        rows = list(lines)
        file.writelines(rows[i] for i in sorted(range(len(places)), key=places.__getitem__))


def _mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation of a column where it is filled in."""
    values = values[~np.isnan(values)]
    return (float(values.mean()), float(values.std())) if values.size else (math.nan, math.nan)


def rates_of(records: Iterable[Record]) -> Rates:
    """Rows to rates: one per variant, test and cell, in the order of the rows."""
    groups: dict[tuple[str, ...], array[float]] = {}
    for record in records:
        key = tuple(record.get(name, "") for name in _KEYS)
        numbers = (float(record[name] or "nan") for name in _AVERAGED)
        groups.setdefault(key, array("d")).extend(numbers)
    return Rates(tuple(_rate(key, numbers) for key, numbers in groups.items()))


def _rate(key: tuple[str, ...], numbers: array[float]) -> Rate:
    rejected, ksd, radius, tau, seconds = np.array(numbers).reshape(-1, len(_AVERAGED)).T
    where = dict(zip(_KEYS, key, strict=True))
    moments = (*_mean(ksd), _mean(radius)[0], *_mean(tau), float(np.median(seconds)))
    return Rate(where, len(rejected), int(rejected.sum()), *moments)


def _as_rate(record: Record) -> Rate:
    numbers = {name: float(record[name] or "nan") for name in _SUMMARY}
    where = {name: record.get(name, "") for name in _KEYS}  # a table may be older than a column
    rest = (numbers[name] for name in _MOMENTS)
    return Rate(where, int(numbers["repeats"]), int(numbers["rejections"]), *rest)


def write_rates(path: Path, rates: Rates) -> None:
    """The aggregated table as CSV."""
    write_records(path, _RATE_COLUMNS, (_rate_record(r) for r in rates))


def _rate_record(r: Rate) -> Record:
    numbers = (r.rate, *r.interval, r.ksd, r.ksd_sd, r.radius, r.tau, r.tau_sd, r.seconds)
    texts = ["" if math.isnan(v) else format(v, ".6g") for v in numbers]
    return {**r.where, **dict(zip(_SUMMARY, [str(r.repeats), str(r.rejections), *texts], strict=True))}


def curves_path(path: Path) -> Path:
    """Where the curves of a table lie: beside it."""
    return path.with_name(path.stem + "-curves.csv")


def write_curves(path: Path, curves: Iterable[Curve]) -> None:
    """The curves beside a table."""
    write_records(curves_path(path), _CURVE_COLUMNS, (record for curve in curves for record in curve.records()))


def _read_curves(path: Path) -> tuple[Curve, ...]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in read_records(path):
        groups.setdefault((record["panel"], record["series"]), []).append(record)
    return tuple(Curve(*key, *(_column(group, name) for name in ("x", "y", "value"))) for key, group in groups.items())  # type: ignore[arg-type]


def _column(group: list[Record], name: str) -> NDArray[np.float64] | None:
    texts = [record[name] for record in group]
    return None if "" in texts else np.array(texts, dtype=np.float64)


def read_results(path: Path) -> Results:
    """The tables of an experiment: of rows as a run leaves them, or aggregated as the documents have them."""
    aggregated = "rejections" in header_of(path)
    rates = Rates(tuple(_as_rate(r) for r in records_in(path))) if aggregated else rates_of(single_records(path))
    curves = curves_path(path)
    return Results(rates, _read_curves(curves) if curves.exists() else ())
