"""The tests."""

from steinball.gof.ksd import ksd_test, robust_ksd_test

__all__ = ["ksd_test", "robust_ksd_test"]
