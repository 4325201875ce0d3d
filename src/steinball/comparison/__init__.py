"""Which of several models is closer to the data, whatever a share of the rows is: the mathematics of comparison."""

from steinball.comparison.embeddings import DrawnEmbedding, KernelCoordinates, MixtureEmbedding, number_of_draws
from steinball.comparison.pairs import Comparison, compare_embeddings

__all__ = [
    "Comparison", "DrawnEmbedding", "KernelCoordinates", "MixtureEmbedding", "compare_embeddings", "number_of_draws",
]  # fmt: skip
