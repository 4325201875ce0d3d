"""A family in one column under a tolerance: the region test of the member with the largest p-value (theorem D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.calibration.fitted import least_rows
from steinball.evidence.families import FamilyRegionEvidence
from steinball.fitting.families import Fitter
from steinball.gof.regions import region_details, region_remarks
from steinball.models.family import Family
from steinball.radius.contamination import Huber
from steinball.record import Record
from steinball.regions.counted import Counted
from steinball.regions.design import Design
from steinball.regions.grid import find_grid
from steinball.regions.member import MOST_PARAMETERS, Column, Member, closest_member, heights, uniform_design
from steinball.regions.reading import Reading
from steinball.regions.source import Source
from steinball.remarks import give
from steinball.results.region_fit import RegionFitResult

_DRAWS = 1999


def check_asked(share: float, family: Family | Fitter, columns: int, given: Mapping[str, Any]) -> None:
    """Refuse what cannot be compared in regions, and options that are for a test at the fitted model."""
    for name in (name for name, value in given.items() if value is not None):
        raise ValueError(
            f"`{name}` cannot be given with `contamination={share:g}`: all members of the family are then compared "
            f"with the rows in regions. Leave `{name}` out, or use `contamination=0`."
        )
    if why := _obstacle(family, columns):
        raise ValueError(
            f"`contamination={share:g}` compares all members of a family with the rows, and {family.label} {why}. Fit "
            "on one part of the rows (`sb.split`) and check the other: `sb.check(rest, model, "
            f"contamination={share:g})`."
        )


def _obstacle(family: Family | Fitter, columns: int) -> str:
    """Why not all members can be compared with rows in regions; empty where they can."""
    if isinstance(family, Fitter):
        return "gives the fitted one alone"
    if columns != 1:
        return f"is a family of {columns} columns"
    if type(family).margins is Family.margins:
        return "tells no distribution functions"
    many = len(family.names)
    return f"has {many} parameters, more than the {MOST_PARAMETERS} of a search" if many > MOST_PARAMETERS else ""


def region_fit(
    x: Floats, family: Family | Fitter, share: float, level: float, known: dict[str, float]
) -> RegionFitResult:
    """The result for rows (n, 1), a tolerated contamination and a level."""
    assert isinstance(family, Family)
    if len(x) < (least := least_rows(len(family.names))):
        raise ValueError(
            f"`x` has {len(x)} rows for {len(family.names)} parameters; a tolerance over a family needs at least "
            f"{least}. Use more rows or a smaller family, or `contamination=0` with RefitBootstrap(199)."
        )
    grid = find_grid(x)
    column = Column.of(x, grid, family.support)
    member, null = closest_member(family, column, share, _DRAWS)
    source = Source(cdf=partial(_cdf, family, member.params), grid=grid)
    counted, reading = _counted(source, member, len(x)), Reading(None, source, x)
    evidence = FamilyRegionEvidence(counted, null, reading, family=family, column=column, member=member)
    shown = family.reported(member.params, np.zeros_like(member.params))
    return RegionFitResult(
        **evidence.decide(Huber(share), evidence.checked_level(level)),
        n=len(x),
        dimension=1,
        views=1,
        details=region_details(reading),
        family=family.label,
        params={name: value for name, (value, _) in shown.items()},
        known_params=known,
        _evidence=evidence,
        _record=Record(warnings=tuple(give(region_remarks(reading)))),
    )


def _cdf(family: Family, params: Floats, x: Floats) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    return heights(family, params, values.ravel()).reshape(values.shape)


def _counted(source: Source, member: Member, n: int) -> Counted:
    """The counts of the search, with cuts in the units of the rows."""
    uniform = uniform_design(n).cuts[0]
    cut = replace(uniform, edges=source.quantiles(uniform.edges[0])[None])
    return Counted(Design(source, n, (cut,), (cut,)), [member.below[None]], [member.below[None]])
