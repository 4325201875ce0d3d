"""Everything expensive: one pass over the pairs of points."""
