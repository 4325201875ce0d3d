"""Predictive checks: PIT intervals, their table by features, the null, and bounds of differences of shares."""
