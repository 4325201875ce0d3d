"""The finite-sample test R-KSD-Dev and its competitors (paper App. D)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import PUBLISHED, Cell, Experiment, Row
from experiments.framework.expectations import above, agree, level, published, theorem
from experiments.framework.figures import TESTS, key, mark, nest, rate_panel, tests, uncover
from experiments.framework.rows import standard_row, tilted_rows
from experiments.framework.table import Rates, Results
from experiments.paper.competitors import MMD_VARIANTS, mmd_rows
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian

SHARES = (0, 0.01, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (0.05, 0.1, 0.2)
NAMES = ("imq-ksd", "tilted-ksd", "r-ksd", "r-ksd-dev", "dcmmd", "mmd-dev")


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, every test at every tolerance from three passes."""
    model = Gaussian()
    x = point_mass(model, cell, rng)
    rows = [standard_row(x, model, rng, cell), *tilted_rows(x, model, rng, cell, tolerances=TOLERANCES, deviation=True)]
    return rows + mmd_rows(x, model, rng, cell, TOLERANCES)


def draw(results: Results, figure: Any) -> None:
    """One panel per tolerance."""
    panels = figure.subplots(1, len(TOLERANCES), sharey=True)
    rates = results.rates.select(variant=PUBLISHED)
    for ax, tolerance in zip(panels, TOLERANCES, strict=True):
        shown = Rates((*rates.select(tolerance=None), *rates.select(tolerance=tolerance)))
        title = rf"$\varepsilon_0 = {tolerance:g}$"
        rate_panel(ax, "contamination", tests(shown, NAMES), xlabel="contamination ε", title=title)
        nest(ax, 0.5)
        uncover(ax, TESTS["r-ksd-dev"].label)
        mark(ax, tolerance)
    for ax in panels[1:]:
        ax.set_ylabel("")
    key(panels[-1], r"$\varepsilon_0$")


EXPERIMENT = Experiment(
    name="deviation",
    title="a finite-sample test",
    reference="App. D",
    figure="Figure 15",
    setup=(
        "IMQ kernel at the median distance, 1,000 draws; tilted by (1+x²)^(−½), 500; MMD tests with exp(−|x−y|²/d) "
        "and m = n points of the model, dcMMD 500 permutations; z = 10"
    ),
    says=(
        "R-KSD-Dev puts a deviation bound in place of the bootstrap and so controls the level at every n, at the "
        "price of power: R-KSD and the robust MMD tests reject earlier beyond ε₀."
    ),
    grid=tuple(gaussian_cell(contamination=share) for share in SHARES),
    trial=trial,
    repeats=100,
    expectations=(
        *(
            published(
                "R-KSD-Dev is still 0 at ε = .2", "contamination", {0.2: 0.0}, test="r-ksd-dev", tolerance=tolerance
            )
            for tolerance in TOLERANCES
        ),
        published(
            "the published curve of dcMMD at ε = 0", "contamination", {0: 0.41}, test="dcmmd", tolerance=TOLERANCES[0]
        ),
        above("R-KSD-Dev is ≈ 1 at ε = .4", test="r-ksd-dev", contamination=0.4, axes={"tolerance": TOLERANCES}),
        *(
            level(
                f"R-KSD and R-KSD-Dev keep the level up to ε₀ = {tolerance:g}",
                tolerance=tolerance,
                axes={"test": NAMES[2:4], "contamination": [s for s in SHARES if s <= tolerance]},
            )
            for tolerance in TOLERANCES
        ),
        *(
            theorem(
                level(
                    "the robust MMD tests keep the level up to ε₀",
                    tolerance=tolerance,
                    axes={"test": NAMES[4:], "contamination": [s for s in SHARES if s <= tolerance]},
                )
            )
            for tolerance in TOLERANCES
        ),
        *(
            agree(
                f"R-KSD-Dev has less power than {name}",
                {"test": "r-ksd-dev"},
                {"test": test},
                axes={"tolerance": (tolerance,), "contamination": [s for s in SHARES if s > tolerance]},
                least=True,
                errors=2.0,
            )
            for test, name in (("r-ksd", "R-KSD"), ("dcmmd", "dcMMD"), ("mmd-dev", "MMD-Dev"))
            for tolerance in TOLERANCES
        ),
    ),
    draw=draw,
    explanations={
        "dcmmd at tolerance=0.05, contamination=0": (
            "The published curve is not dcMMD, which keeps the level: the script takes one square root too many. √D "
            "against dcMMD's threshold for D rejects often at ε₀ = .05 and hardly ever at ε₀ = .1 and .2, so that the "
            "published number is taken to be that of ε₀ = .05."
        ),
        **{
            f"dcmmd at tolerance={tolerance}, contamination={share}": (
                "dcMMD as it is defined moves its threshold by 2ε₀√2, twice the radius of MMD-Dev: .28 at ε₀ = .1, .57 "
                "at ε₀ = .2. With outliers at 10 and this kernel the mean of D is {ksd: test=dcmmd, tolerance=0.1, "
                "contamination=0.3}, {ksd: test=dcmmd, tolerance=0.1, contamination=0.4} and {ksd: test=dcmmd, "
                "tolerance=0.1, contamination=0.5} at ε = .3, .4 and .5, and the quantile of the permutations comes on "
                "top of the shift."
            )
            for tolerance, share in ((0.1, 0.3), (0.2, 0.4), (0.2, 0.5))
        },
    },
    variants=MMD_VARIANTS,
    size=(10.2, 3.2),
    differences=(
        "A published curve of dcMMD in this figure rejects 41 % at ε = 0. That is not dcMMD, which keeps the level "
        "there ({rate: test=dcmmd, tolerance=0.05, contamination=0}): the script takes one square root too many. The "
        "text ranks R-KSD-Dev below the MMD tests; with dcMMD as it is defined that is so at ε₀ = .05 and no longer at "
        "ε₀ = .1 ({rate: test=dcmmd, tolerance=0.1, contamination=0.3} against {rate: test=r-ksd-dev, tolerance=0.1, "
        "contamination=0.3} at ε = .3) and ε₀ = .2. As in [outliers](outliers.md), the MMD tests have exp(−|x−y|²/d), "
        "behind the published curves; the variant `text` has the text's median distance."
    ),
)
