"""A family in one column under a tolerance: the region test of the member with the largest p-value (theorem D)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from steinball.arrays import Floats
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


def by_regions(family: Family | Fitter, x: Floats) -> bool:
    """Whether all members can be compared with the rows (n, d) in regions: one column, known distribution functions."""
    if isinstance(family, Fitter) or x.shape[1] != 1 or len(family.names) > MOST_PARAMETERS:
        return False
    return type(family).margins is not Family.margins


def region_fit(x: Floats, family: Family, share: float, level: float, known: dict[str, float]) -> RegionFitResult:
    """The result for rows (n, 1), a tolerated contamination and a level."""
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
    with np.errstate(all="ignore"):
        return heights(family, params, values.ravel()).reshape(values.shape)


def _counted(source: Source, member: Member, n: int) -> Counted:
    """The counts of the search, with cuts in the units of the rows."""
    uniform = uniform_design(n).cuts[0]
    cut = replace(uniform, edges=source.quantiles(uniform.edges[0])[None])
    return Counted(Design(source, n, (cut,), (cut,)), [member.below[None]], [member.below[None]])
