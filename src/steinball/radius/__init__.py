"""How much misfit is tolerated: radii θ of KSD balls that contain a stated set (paper §4.2; docs/theory/radii.md)."""

from steinball.radius.band import DensityBand, StudentTails
from steinball.radius.base import Alternative, FixedRadius, LikeModel, Radius, ScoreError
from steinball.radius.contamination import ChiSquared, Hellinger, Huber, KullbackLeibler, TotalVariation, Wasserstein

__all__ = ["Alternative", "ChiSquared", "DensityBand", "FixedRadius", "Hellinger", "Huber", "KullbackLeibler"]
__all__ += ["LikeModel", "Radius", "ScoreError", "StudentTails", "TotalVariation", "Wasserstein"]
