"""What every test gives back: one rule for the decision, one dictionary, one way to show it."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from steinball import text
from steinball.arrays import Floats, check_resamples, check_share
from steinball.calibration.base import Calibration
from steinball.evidence.base import Decision, Evidence, PairSums
from steinball.explain import Concession, Detectable, Explanation, ToleranceCurve
from steinball.explain.explanation import explain
from steinball.explain.regions import Profile
from steinball.explain.tolerance import conceding, smallest_detectable, tolerance_curve
from steinball.radius.base import FixedRadius, Radius, as_radius
from steinball.radius.contamination import Huber, TotalVariation
from steinball.record import Record
from steinball.remarks import Remark, give


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(Decision, text.Reported):
    """The result of a test.

    Attributes
    ----------
    rejected : bool
        Whether the data contradict the model beyond what is tolerated: ``pvalue <= level`` and
        ``statistic > threshold``. The two say the same, except for U-statistics with an infinite threshold.
    verdict : {"misfit", "good enough", "close in KSD", "undecided"}
        ``"misfit"`` where rejected. Tests that compare probabilities know ``"good enough"``, tests that compare scores
        alone ``"close in KSD"``.
    pvalue, level : float
        Of the hypothesis that the data come from the tolerated set, and the level α of the decision.
    statistic, threshold : float
        What was compared; on one scale.
    contamination : float or None
        The tolerated share of contamination; ``None`` where the tolerance is not a share.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share is contaminated; 0 where the test bounds no share.
    n, dimension : int
        Size of the data.
    calibration, n_resamples : str, int
        The class that imitates the null distribution, and its number of draws.

    Notes
    -----
    A test that does not reject has not shown that the model fits. It has only not shown that the data come from
    further away than is tolerated.
    """

    contamination: float | None = None
    contamination_bound: float = 0.0
    n: int
    dimension: int
    calibration: str
    n_resamples: int = 0
    _evidence: Evidence
    _tolerated: Radius = field(default_factory=lambda: FixedRadius(0.0))
    _record: Record = field(default_factory=Record)

    schema: ClassVar[str]
    """Name and version of what :meth:`to_dict` gives."""
    _in_repr: ClassVar[tuple[str, ...]] = ()
    """What the repr shows besides the decision."""
    _subject: ClassVar[str] = "the data"
    _noun: ClassVar[str] = "point"
    _target: ClassVar[str] = "the model"
    _unproved: ClassVar[str] = text.UNPROVED
    """The words of the decision: what contradicts what, and what is not shown where it does not."""

    @classmethod
    def of(
        cls, evidence: Evidence, tolerated: Radius, level: float, remarks: Iterable[Remark] = (), **more: Any
    ) -> Self:
        """What the evidence gives, after a warning of every remark; ``more`` are fields that it does not know."""
        record = Record().warned(give(remarks))
        return cls(**evidence.decide(tolerated, float(level)), **{"_record": record, **more})

    @property
    def verdict(self) -> str:
        """``"misfit"`` where rejected; the best that the test can say where bounds allow it; else ``"undecided"``."""
        return self._evidence.verdict(self.rejected, self._tolerated, self.level)

    def at(
        self,
        *,
        contamination: float | None = None,
        tolerance: float | None = None,
        radius: float | Radius | None = None,
        level: float | None = None,
        calibration: Calibration | None = None,
    ) -> Self:
        """The decision at another tolerance or level, from the same draws: nothing is recomputed.

        ``tolerance`` is a difference of shares. Where a region test simulated its null, that serves the contamination
        that was asked for; binomial tails serve all others (``docs/theory/regions.md``, theorem B). Of kernel Stein
        tests, ``calibration`` may be one that reads the same draws (:class:`WeightedBootstrap` and
        :class:`BoundaryBootstrap`), or one that needs none (:class:`DeviationBound`).

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = sb.datasets.contaminate(np.random.default_rng(0).normal(size=200), 0.2, 10.0, rng=0)
        >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.0, rng=0)
        >>> result.rejected, result.at(contamination=0.2).rejected
        (True, False)
        """
        evidence = self._evidence if calibration is None else self._evidence.recalibrated(calibration)
        asked = self._asked(contamination, tolerance, radius)
        tolerated, level = asked or self._tolerated, evidence.checked_level(self.level if level is None else level)
        if asked is None and calibration is None:
            return self._decided_by(evidence, tolerated, level)
        evidence.check(tolerated)
        found = self._decided_by(evidence, tolerated, level)
        return dataclasses.replace(found, _record=self._record.warned(give(evidence.remarks(tolerated))))

    def _asked(
        self, contamination: float | None, tolerance: float | None, radius: float | Radius | None
    ) -> Radius | None:
        """The tolerated set that a user asked for; ``None`` where it stays as it is."""
        if contamination is not None and radius is not None:
            raise ValueError("give `contamination` or `radius`, not both: each of them sets the radius.")
        if tolerance is not None:
            if contamination is not None or radius is not None:
                raise ValueError("give `contamination` or `tolerance`, not both: they are two questions.")
            return TotalVariation(check_share(tolerance, "tolerance"))
        if contamination is None:
            return None if radius is None else as_radius(radius)
        own = self._tolerated
        return own.resized(contamination) if own.contamination is not None and own.sized_by else Huber(contamination)

    def _decided_by(self, evidence: Evidence, tolerated: Radius, level: float) -> Self:
        fields = evidence.decide(tolerated, level)
        if "details" in fields:
            fields["details"] |= self._record.columns(self.dimension)
        return dataclasses.replace(self, **fields)

    def extend(self, n_more: int) -> Self:
        """The same test with ``n_more`` further bootstrap draws; the earlier ones are kept.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=50)
        >>> sb.ksd_test(x, sb.models.Gaussian(), rng=0).extend(1000).n_resamples
        1999
        """
        more = self._evidence.extended(check_resamples(n_more, "n_more"))
        return self._decided_by(more, self._tolerated, self.level)

    def _called(self, call: str, names: tuple[str, ...]) -> Self:
        """The same result, made by this call about columns of these names."""
        record = dataclasses.replace(self._record, call=call, names=names)
        found = dataclasses.replace(self, _record=record)
        return found._decided_by(self._evidence, self._tolerated, self.level) if names else found

    def sentence(self) -> str:
        """The decision in words. Not rejecting is never worded as support for the model."""
        return f"{self._decided()}\n{self._concession()}".rstrip()

    def _brief(self) -> tuple[list[str], list[str]]:
        """What was found in sentences, and the numbers behind it."""
        numbers = [f"p-value {text.short(self.pvalue)}", self._measured(), self._calibrated()]
        return [sentence for sentence in self._answer() if sentence], numbers

    def explain(self, data: Any = None, top: int = 10) -> Explanation:
        """The points, coordinates and places that D is made of: :class:`steinball.explain.Explanation`.

        ``data`` is the frame that was tested, for the names of its columns and rows; ``top`` points are listed.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=200)
        >>> x[[3, 50, 71, 72, 90, 105, 113, 128, 137, 149, 160, 161, 177, 185, 190]] = 3.0
        >>> found = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0).explain(top=3)
        >>> found.points.tolist()
        [3, 50, 71]
        """
        return explain(self._sums(), self.rejected, data, top, self._columns)

    def tolerance_curve(self, grid: Any = None) -> ToleranceCurve:
        """p-value and verdict for many tolerated shares: :class:`steinball.explain.ToleranceCurve`."""
        return tolerance_curve(self._evidence, self._tolerated, self.level, self.contamination_bound, grid)

    def conceded(self) -> Concession:
        """The contamination that must be conceded, and what is said by it: :class:`steinball.explain.Concession`."""
        return Concession(self.contamination_bound, self.level, self._whose())

    def smallest_detectable(self, kind: Any = "worst") -> Detectable:
        """The least contamination that could have been detected: :class:`steinball.explain.Detectable`."""
        return smallest_detectable(self._sums(), self.level, kind)

    @property
    def _columns(self) -> tuple[str, ...]:
        """What the tested frame calls its columns; empty for an array."""
        return self._record.names

    def _sums(self) -> tuple[PairSums, ...]:
        """What explanations and pictures of points are made from, for every kernel, the leading one first."""
        if found := self._evidence.pair_sums(self._tolerated, self.level):
            return found
        raise TypeError(
            f"a {type(self).__name__} keeps no sums over its points, so that it cannot say which of them count."
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON. Its ``schema`` is raised when fields change (``docs/developer/results.md``).

        What is not finite is ``None``, tuples are lists, kernels and tilts are texts.
        """
        names = (part.name for part in dataclasses.fields(self) if not part.name.startswith("_"))
        values = {name: text.plain(getattr(self, name)) for name in ("rejected", "verdict", *names)}
        return {"schema": self.schema, **values}

    def __repr__(self) -> str:
        names = ("pvalue", "statistic", "threshold", *self._in_repr)
        values = "".join(f", {name}={text.describe(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}(rejected={self.rejected}{values})"

    # Pictures and a page; what they are drawn from is declared here, and nothing else is asked of a result.

    @property
    def draws(self) -> Floats | None:
        """The draws of the null distribution, where there are any."""
        return None

    @property
    def pictures(self) -> tuple[str, ...]:
        """What :meth:`plot` can show of this result, ``"overview"`` first."""
        from steinball.show.pictures import possible_pictures

        return ("overview", *possible_pictures(self))

    def plot(self, kind: str | Path = "overview", ax: Any = None, *, data: Any = None) -> Any:
        """A picture, by matplotlib (``pip install 'steinball[plot]'``): ``result.plot("picture.png")`` writes a file.

        Parameters
        ----------
        kind : str, or the name of a file
            One of ``result.pictures``. ``"overview"`` is two panels: the data against the model with the most
            responsible points, and the p-value against the tolerance with the zones of the three verdicts. A name
            that ends in .png, .pdf or .svg means the overview in that file.
        ax : axes, a pair of them for the overview, or the name of a file; optional
            Where to draw; by default in a new figure.
        data : frame, optional
            The frame that was tested, for the names of its columns and rows.

        Returns
        -------
        axes, a tuple of them for the overview, or the path of the file

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).pictures
        ('overview', 'data', 'tolerance', 'draws', 'witness', 'contributions', 'diagonal')
        """
        from steinball.show.pictures import plot

        return plot(self, kind, ax, data=data)

    def report(self, path: str | Path, *, data: Any = None, title: str = "") -> Path:
        """Write one page of HTML to hand over: the verdict first, two panels, sliders, and how it was computed.

        Nothing is loaded from anywhere, and at most 2,000 of the points are in it.

        Parameters
        ----------
        path : path
            Where to write it; a file that is there is replaced.
        data : frame, optional
            The frame that was tested, for the names of its columns and rows.
        title : str
            What it is about; by default the name of the test.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(Path(folder, "fit.html")).stat().st_size < 10**6
        True
        """
        from steinball.show.page import write_report

        return write_report(self, path, data=data, title=title)

    def _drawn(self) -> Floats | None:
        """The draws on the scale of the statistic."""
        return None

    def _profile(self) -> Profile | None:
        """The view that decides, where shares of rows in regions were compared."""
        return None

    def _detectable(self) -> str:
        """What the test could have seen, for the page."""
        try:
            return " ".join(self.smallest_detectable().summary().split())
        except (TypeError, ValueError) as error:
            return f"Not known for this test: {error}"

    def _wealth(self) -> Floats | None:
        """The logarithm of a bettor's wealth after every point, (n,)."""
        return None

    def __bool__(self) -> bool:
        raise TypeError("results have no truth value: use `result.rejected`.")

    # The words that the tables and sentences of all tests share.

    def _headline(self) -> str:
        """The verdict in capitals; where nothing is tolerated, the decision."""
        if self._tolerance_words():
            return self.verdict.upper()
        return "REJECTED" if self.rejected else "NOT REJECTED"

    def _answer(self) -> list[str]:
        """The sentences of a brief summary; "contaminated" is explained once, where it is said."""
        said = [self._finding(), (self._concession() if self.rejected else "") or self._unseen()]
        return [*said, text.CONTAMINATED if "ontaminat" in "".join(said) else ""]

    def _finding(self) -> str:
        """What was found, in a sentence."""
        points, target, tolerated = f"The {text.count(self.n, self._noun)}", self._target, self._tolerance_words()
        if self.rejected:
            return f"{points} contradict {target}{', even ' * bool(tolerated)}{tolerated}."
        if not tolerated:
            return f"{points} do not contradict {target}. {self._unproved}."
        return f"{points} fit {target} {tolerated}, but {self._but()}."

    def _but(self) -> str:
        """Why a model that was not rejected has not been shown to be close enough."""
        return "this test does not show that the model is that close"

    def _concession(self) -> str:
        return conceding(self.contamination_bound, self.level, self._whose())

    def _unseen(self) -> str:
        """What could not have been detected; empty where that is not known."""
        return ""

    def _measured(self) -> str:
        """The distance, for the line of numbers."""
        return f"statistic {text.short(self.statistic)}"

    def _decided(self) -> str:
        words = self._subject, self._target, self._unproved
        return text.decided(self.rejected, f"at level {self.level:g}", self._tolerance_words(), words)

    def _points(self) -> str:
        return f"{text.count(self.n, 'point')} in {text.count(self.dimension, 'dimension')}"

    def _rule(self) -> str:
        finite = math.isfinite(self.threshold)
        return f"rejected above {text.number(self.threshold)}" if finite else "no value can reject at this level"

    def _calibrated(self) -> str:
        name = text.spaced(self.calibration)
        return f"{name}, {text.count(self.n_resamples, 'draw')}" if self.n_resamples else name

    def _tolerance(self) -> str:
        """A note on the radius."""
        if not self.contamination:
            return "nothing is tolerated"
        where = ", wherever it lies" if self._certain() else ""
        return f"tolerated: {text.percent(self.contamination)} of contamination{where}"

    def _certain(self) -> bool:
        """Whether it is proved that no place of contamination counts for more than the radius allows."""
        return True

    def _tolerance_words(self) -> str:
        return text.tolerated(self.contamination)

    def _whose(self) -> str:
        return text.OF_POINTS


_MOST_PARAMETERS = 8


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FamilyResult(Result):
    """A result about a family of models, which tells the parameters of a member: the first eight of them."""

    family: str = ""
    params: dict[str, float] = field(default_factory=dict)
    known_params: dict[str, float] = field(default_factory=dict)

    _member: ClassVar[str] = ""
    """Which member the parameters are of, where that is not the fitted one."""

    def _preface(self) -> str:
        """The family, n, and the parameters, fitted and known ones."""
        shown = list(self.params.items())[:_MOST_PARAMETERS]
        told = [f"{name} {text.short(value)}{self._error(name)}" for name, value in shown]
        told += [f"{name} {text.short(value)} (known)" for name, value in self.known_params.items()]
        told += [f"and {self._untold} more"] if self._untold else []
        line = f"{self.family}, n = {text.count(self.n)}{f'; {self._member}' * bool(self._member)}"
        return textwrap.fill(f"{line}: {', '.join(told)}".removesuffix(": "), text.BRIEF_WIDTH, subsequent_indent="  ")

    def _error(self, name: str) -> str:
        """The standard error of a parameter, where one is known."""
        return ""

    @property
    def _untold(self) -> int:
        return max(0, len(self.params) - _MOST_PARAMETERS)

    def _parameter_rows(self) -> list[text.Row]:
        rows: list[text.Row] = []
        for name, value in list(self.params.items())[:_MOST_PARAMETERS]:
            rows.append((name, text.number(value), self._error(name).strip() or f"of the {self._member}"))
        rows += [("", f"and {self._untold} more parameters")] if self._untold else []
        return rows + [(name, text.number(value), "known") for name, value in self.known_params.items()]
