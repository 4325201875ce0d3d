"""BlackJAX: states hold the position and the gradient of the log density."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.adapters.posterior import NamedDraws, Reading
from steinball.arrays import Floats
from steinball.models.registry import Adapter


class BlackJAX(Adapter):
    """Draws and scores of BlackJAX."""

    def draws(self, thing: Any, reading: Reading) -> NamedDraws:
        """Positions and gradients of states: of one chain (draw, ...), of several by ``reading.chain_axis``.

        States without ``logdensity_grad``, such as those of a random walk, give no scores.
        """
        fields = thing._asdict()
        leading = np.ndim(fields["logdensity"])
        if leading not in (1, 2):
            raise ValueError(
                f"`draws` must be states with one leading axis (draw) or two (chain and draw), got {leading}. Collect "
                "the states, for example by `jax.lax.scan`, whose second value stacks them."
            )
        if leading == 2 and reading.chain_axis is None:
            raise ValueError(
                f"`draws` has two leading axes {np.shape(fields['logdensity'])}, and states do not say which of them "
                "is the chain. Give `chain_axis=0` for (chain, draw), as `jax.vmap` over chains makes them, or "
                "`chain_axis=1` for (draw, chain), as a scan over vectorized steps does."
            )
        values, scores = (
            {name: leaf[None] if leading == 1 else reading.chains_first(leaf) for name, leaf in _leaves(tree).items()}
            for tree in (fields["position"], fields.get("logdensity_grad", {}))
        )
        return NamedDraws(values, scores or None, ordered=True)


def _leaves(tree: Any) -> dict[str, Floats]:
    """The leaves of a position by name: of a dictionary its own, otherwise ``x``, or ``x[0]``, ``x[1]``."""
    if isinstance(tree, tuple | list):
        tree = {f"x{k}": part for k, part in enumerate(tree)}
    if isinstance(tree, dict):
        named = ((f"{name}.{leaf}", value) for name, part in tree.items() for leaf, value in _leaves(part).items())
        return {name.removesuffix(".x"): value for name, value in named}
    return {"x": np.asarray(tree, dtype=np.float64)}


ADAPTER = BlackJAX()
