"""States of BlackJAX: position and gradient of the log density are both in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.posterior.draws import Draws, Reading
from steinball.posterior.layout import Layout


def read_states(states: Any, reading: Reading) -> tuple[Draws, Floats | None]:
    """Draws and scores of states: of one chain (draw, ...), of several (chain, draw, ...) or (draw, chain, ...).

    States without ``logdensity_grad``, such as those of a random walk, give no scores.
    """
    fields = states._asdict()
    leading = np.ndim(fields["logdensity"])
    if leading not in (1, 2):
        raise ValueError(
            f"`draws` must be states with one leading axis (draw) or two (chain and draw), got {leading}. Collect the "
            "states, for example by `jax.lax.scan`, whose second value stacks them."
        )
    if leading == 2 and reading.chain_axis is None:
        shape = np.shape(fields["logdensity"])
        raise ValueError(
            f"`draws` has two leading axes {shape}, and states do not say which of them is the chain. Give "
            "`chain_axis=0` for (chain, draw), as `jax.vmap` over chains makes them, or `chain_axis=1` for (draw, "
            "chain), as a scan over vectorized steps does."
        )
    positions = _named(fields["position"])
    layout = Layout.of(positions, leading)
    draws = Draws.of(layout.pack(positions), reading, reading.parameters or layout.parameters)
    if "logdensity_grad" not in fields:
        return draws, None
    scores = layout.pack(_named(fields["logdensity_grad"]))
    return draws, reading.chains_first(scores).reshape(len(draws), -1)


def _named(tree: Any) -> dict[str, Floats]:
    """The leaves of a position by name: of a dictionary its own, otherwise ``x``, or ``x[0]``, ``x[1]``."""
    if isinstance(tree, dict):
        parts = {str(name): _named(part) for name, part in tree.items()}
        return {
            name if leaf == "x" else f"{name}.{leaf}": value
            for name, part in parts.items()
            for leaf, value in part.items()
        }
    if isinstance(tree, tuple | list):
        return {f"x{k}.{leaf}".removesuffix(".x"): v for k, part in enumerate(tree) for leaf, v in _named(part).items()}
    return {"x": np.asarray(tree, dtype=np.float64)}
