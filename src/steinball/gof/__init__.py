"""The tests: the paper's own, those it compares with, and those that go beyond it."""
