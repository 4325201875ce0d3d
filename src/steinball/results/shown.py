"""What every result has to show: pictures, a page to hand over, a card in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steinball.arrays import Floats
from steinball.results.dial import Dial, Scales

if TYPE_CHECKING:
    from steinball.results.base import Result

__all__ = ["Shown"]


class Shown:
    """Pictures and a page of a result. What it has to show it declares here; nothing else is asked of it."""

    @property
    def draws(self) -> Floats | None:
        """The draws of the null distribution, where there are any."""
        return None

    @property
    def pictures(self) -> tuple[str, ...]:
        """What :meth:`plot` can show of this result, ``"overview"`` first."""
        return ("overview",)

    def plot(self: Result, kind: str = "overview", ax: Any = None, *, data: Any = None) -> Any:  # type: ignore[misc]
        """A picture, by matplotlib (``pip install 'steinball[plot]'``).

        Parameters
        ----------
        kind : str
            One of ``result.pictures``. ``"overview"`` is two panels: the data against the model with the most
            responsible points, and the p-value against the tolerance with the zones of the three verdicts.
        ax : axes, or a pair of them for the overview; optional
            Where to draw; by default in a new figure.
        data : frame, optional
            The frame that was tested, for the names of its columns and rows.

        Returns
        -------
        axes, or an array of two

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).pictures
        ('overview', 'data', 'tolerance', 'draws', 'witness', 'contributions', 'diagonal')
        """
        from steinball.plots import plot

        return plot(self, kind, ax, data=data)

    def report(self: Result, path: str | Path, *, data: Any = None, title: str = "") -> Path:  # type: ignore[misc]
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
        from steinball.report import write_report

        return write_report(self, path, data=data, title=title)

    # What pictures are drawn from, where a result has it.

    def _dial(self) -> Dial | None:
        """The result at other tolerances."""
        return None

    def _drawn(self) -> Floats | None:
        """The draws on the scale of the statistic."""
        return None

    def _scales(self) -> Scales | None:
        """What each of several length scales says."""
        return None

    def _path(self) -> Floats | None:
        """The logarithm of a bettor's wealth after every point, (n,)."""
        return None
