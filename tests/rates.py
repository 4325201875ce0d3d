"""How often something happens, from no more repeats than the answer needs."""

from __future__ import annotations

import math
from collections.abc import Iterable

ALARM, MISS = 0.001, 0.007
"""Chances of error: a claimed rate is denied; another rate, of those that are named, is taken for the claimed one."""

LEVEL = 0.05, 0.13
"""A rate of 5 % or less against one of 13 %. At most 36 of 400 would miss as rarely (0.008)."""

EXACT_LEVEL = 0.05, 0.13, 0.01
"""The same, and against a rate of 1 %. Between 8 and 36 of 400 would miss as rarely (0.008) or more often (0.05)."""

ALWAYS = 0.999, 0.97
"""A rate of 99.9 % or more against one of 97 %. At least 396 of 400 would miss as rarely (0.007)."""


def happens(outcomes: Iterable[bool], rate: float, *others: float) -> bool:
    r"""Whether events of one claimed rate are seen, and none of the other rates: Wald's sequential test against each

    .. math:: L_t = \sum_{s \le t} \log \frac{f_{\text{other}}(x_s)}{f_{\text{rate}}(x_s)}, \qquad
       \text{denied where } L_t \ge \log \frac{1 - \text{MISS}}{\text{ALARM}}, \text{ granted where }
       L_t \le \log \frac{\text{MISS}}{1 - \text{ALARM}},

    with f the probability of an outcome. The claim holds where it is granted against every other rate. On average it
    takes a third of the repeats of a fixed number with the same chances of error, and eight where it is plainly wrong.

    Examples
    --------
    >>> from itertools import repeat
    >>> happens(repeat(False), *LEVEL), happens(repeat(True), *LEVEL), happens(repeat(False), *EXACT_LEVEL)
    (True, False, False)
    """
    denied, granted = math.log((1.0 - MISS) / ALARM), math.log(MISS / (1.0 - ALARM))
    steps = [(math.log((1.0 - other) / (1.0 - rate)), math.log(other / rate)) for other in others]
    walks = dict.fromkeys(range(len(others)), 0.0)
    for outcome in outcomes:
        walks = {k: walk + steps[k][bool(outcome)] for k, walk in walks.items()}
        if any(walk >= denied for walk in walks.values()):
            return False
        walks = {k: walk for k, walk in walks.items() if walk > granted}
        if not walks:
            return True
    raise ValueError("`outcomes` must go on until the claim is decided.")
