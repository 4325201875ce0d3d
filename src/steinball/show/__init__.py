"""Pictures and pages of results: ``result.plot()`` and ``result.report("fit.html")``."""
