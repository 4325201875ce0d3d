"""Models: what the data should look like, by a score and where possible a log density and a sampler."""

from steinball.models.autodiff import from_log_density
from steinball.models.base import Model, as_model, from_score, from_scores
from steinball.models.base_space import in_base_space
from steinball.models.boltzmann import GaussianBernoulliRBM
from steinball.models.gaussian import Gaussian
from steinball.models.independent import Independent
from steinball.models.kernel_exponential import KernelExponentialFamily
from steinball.models.mixture import GaussianMixture
from steinball.models.registry import Draws, from_draws
from steinball.models.score_check import check_score
from steinball.models.student_t import StudentT

__all__ = ["Draws", "Gaussian", "GaussianBernoulliRBM", "GaussianMixture", "Independent", "KernelExponentialFamily"]
__all__ += ["Model", "StudentT"]
__all__ += ["as_model", "check_score", "from_draws", "from_log_density", "from_score", "from_scores", "in_base_space"]
