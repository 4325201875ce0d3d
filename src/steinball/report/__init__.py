"""A page of a result to hand over: ``result.report("fit.html")``."""

from steinball.report.page import write_report

__all__ = ["write_report"]
