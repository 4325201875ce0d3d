"""Data that ship with the library, and generators of data that are not quite a model's."""

from steinball.datasets.band import DensityBandPerturbation, density_band
from steinball.datasets.contamination import (
    MixturePair,
    contaminate,
    mean_shift,
    mixture_pair,
    scaled_student_t,
    split_with_outliers,
)
from steinball.datasets.galaxies import load_galaxies

__all__ = [
    "DensityBandPerturbation",
    "MixturePair",
    "contaminate",
    "density_band",
    "load_galaxies",
    "mean_shift",
    "mixture_pair",
    "scaled_student_t",
    "split_with_outliers",
]
