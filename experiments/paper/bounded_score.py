"""Models with a bounded score need no weight: R-KSD without and with one (§3.1, remark on exploding scores)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import steinball as sb
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, agree, because, below, level, theorem
from experiments.framework.figures import Series, Style, draw_curves, mark, rate_panel
from experiments.framework.rows import TOLERANCE
from experiments.framework.table import Curve, Results
from experiments.paper.data import gaussian_cell, point_mass
from experiments.paper.draws import drawn
from steinball.models import StudentT
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt, Tilt

SHARES = (0, 0.05, 0.1, 0.2, 0.3)
OUTLIERS = (3, 100)
EXPONENTS = (0.0, 0.5)
STUDENT, LOGISTIC = "Student t, ν = 5", "logistic"

MODELS: dict[str, Any] = {
    STUDENT: StudentT(5.0),
    LOGISTIC: sb.from_score(lambda x: -np.tanh(x / 2.0), sample=lambda n, rng: rng.logistic(size=(n, 1)), growth=0.0),
}

_LOOKS = {0.0: ("untilted", "#D55E00"), 0.5: ("tilted", "#0072B2")}
_LINES = {3: ("o", "-"), 100: ("s", "--")}
_CURVES = {
    f"{STUDENT}, 0": Style("Student t, untilted", "#D55E00"),
    f"{STUDENT}, 0.5": Style("Student t, tilted", "#0072B2"),
    f"{LOGISTIC}, 0": Style("logistic, untilted", "#E69F00"),
    f"{LOGISTIC}, 0.5": Style("logistic, tilted", "#56B4E9"),
}


def _tilt(exponent: float) -> Tilt | None:
    return PolynomialTilt(exponent) if exponent else None


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, R-KSD without and with a tilt."""
    model = MODELS[cell["kind"]]
    x = point_mass(model, cell, rng)
    return [drawn(x, model, rng, tilt=_tilt(b)).robust(cell, TOLERANCE, exponent=b) for b in EXPONENTS]


def diagonal(kind: str, exponent: float, x: Any) -> Any:
    """u(x, x) with the inverse multiquadric of unit length scale."""
    points = np.asarray(x, dtype=float).reshape(-1, 1)
    stein = SteinKernel(sb.InverseMultiquadric(1.0), _tilt(exponent))
    return stein.diagonal(points, MODELS[kind].score(points))


def curves(variant: str) -> list[Curve]:
    """u(x, x) from the center to far out."""
    x = np.geomspace(0.01, 1e3, 201)
    return [Curve("stein", f"{kind}, {b:g}", x, value=diagonal(kind, b, x)) for kind in MODELS for b in EXPONENTS]


def draw(results: Results, figure: Any) -> None:
    """The Stein kernels, and the rates of either model."""
    first, *panels = figure.subplots(1, 3)
    draw_curves(first, results.panel("stein"), _CURVES)
    first.set(xlabel="x", ylabel="u(x, x)", title="Stein kernel", xscale="log", ylim=(-0.05, 3.6))
    first.legend(loc="upper left", ncols=2)
    rates = results.rates.select(variant="published", test="r-ksd")
    for ax, kind in zip(panels, MODELS, strict=True):
        lines = [
            Series(
                rates.select(kind=kind, exponent=b, outlier=z),
                Style(f"R-KSD, {_LOOKS[b][0]}, z = {z}", _LOOKS[b][1], *_LINES[z]),
            )
            for b in EXPONENTS
            for z in OUTLIERS
        ]
        title = kind.replace("ν", r"$\nu$")
        rate_panel(ax, "contamination", lines, xlabel=r"contamination $\varepsilon$ at z", title=title)
        mark(ax, TOLERANCE)
    panels[1].set_ylabel("")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4)


def _bounded(results: Results) -> Iterator[Finding]:
    """Against the suprema in closed form, s² + 1 for unit length scale and no weight."""
    suprema = {STUDENT: 1.0 + 36.0 / 20.0, LOGISTIC: 2.0}  # |s| ≤ (ν + 1)/(2√ν), and 1
    for kind, expected in suprema.items():
        value = float(np.max(results.panel("stein")[f"{kind}, 0"].value))  # type: ignore[arg-type]
        yield Finding(f"largest untilted u(x, x), {kind}", f"{expected:g} ± 0.001", value, abs(value - expected) < 1e-3)


EXPERIMENT = Experiment(
    name="bounded-score",
    title="models with a bounded score need no weight",
    reference="§3.1, remark on exploding scores",
    says=(
        'The theorem on the lack of robustness of stationary kernels needs an exploding score, which "excludes '
        'heavy-tailed models with bounded score functions, such as super-Laplacian or t-distributions". For those the '
        "Stein kernel is bounded with w = 1, so that Lemma 2, the radius ε₀√τ∞ and R-KSD all hold without a tilt. A "
        "tilt then only hides what lies far out: its u(x, x) falls to 0 there, and with it the sight of outliers."
    ),
    setup="IMQ at the median distance, untilted and with the weight (1+x²)^(−½), 500 draws, ε₀ = .05, τ of the sample",
    grid=tuple(
        gaussian_cell(kind=kind, outlier=z, contamination=share)
        for kind in MODELS
        for z in OUTLIERS
        for share in SHARES
    ),
    trial=trial,
    repeats=100,
    expectations=(
        theorem(Expectation("the untilted u(x, x) is bounded", _bounded)),
        *(
            level(
                "R-KSD keeps the level up to ε₀ without a tilt and with one",
                test="r-ksd",
                exponent=b,
                axes={"kind": tuple(MODELS), "outlier": OUTLIERS, "contamination": SHARES[:2]},
            )
            for b in EXPONENTS
        ),
        above(
            "without a tilt it sees 20 % of outliers at 3",
            test="r-ksd",
            exponent=0.0,
            contamination=0.2,
            outlier=3,
            axes={"kind": tuple(MODELS)},
        ),
        because(
            "the score of Student's t falls to 0 far out, like −(ν + 1)/x, and u(x, x) to a third of its maximum: far "
            "outliers are what that model expects",
            above(
                "and at 100, for the logistic model",
                test="r-ksd",
                exponent=0.0,
                kind=LOGISTIC,
                outlier=100,
                axes={"contamination": SHARES[2:]},
            ),
        ),
        below(
            "with a tilt it sees none of those far out",
            0.1,
            test="r-ksd",
            exponent=0.5,
            outlier=100,
            axes={"kind": tuple(MODELS), "contamination": SHARES},
        ),
        agree(
            "without a tilt it is nowhere less powerful",
            {"test": "r-ksd", "exponent": 0.5},
            {"test": "r-ksd", "exponent": 0.0},
            errors=2.0,
            least=True,
            axes={"kind": tuple(MODELS), "outlier": OUTLIERS, "contamination": SHARES[2:]},
        ),
    ),
    draw=draw,
    curves=curves,
    size=(11.0, 3.6),
    differences=(
        '`tilt="auto"` leaves the tilt out where u is proved to be bounded without one, as for Student\'s t. For ν → '
        "∞ the score of Student's t grows over an ever longer way before it falls, and a tilt becomes useful again."
    ),
)
