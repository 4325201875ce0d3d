"""What the reference says below each entry: names that belong together, pages with proofs, and literature.

A group is written once, for all of its names. ``docstrings.py`` turns groups into See Also and References.
"""

from __future__ import annotations

from typing import NamedTuple

LITERATURE = {
    "liu": "X. Liu and F.-X. Briol (2025). On the robustness of kernel goodness-of-fit tests. *JMLR* 26.",
    "chwialkowski": "K. Chwialkowski, H. Strathmann and A. Gretton (2016). A kernel test of goodness of fit. *ICML*.",
    "liu2016": "Q. Liu, J. Lee and M. Jordan (2016). A kernelized Stein discrepancy for goodness-of-fit tests. *ICML*.",
    "gorham": "J. Gorham and L. Mackey (2017). Measuring sample quality with kernels. *ICML*.",
    "schrab": "A. Schrab, B. Guedj and A. Gretton (2022). KSD aggregated goodness-of-fit test. *NeurIPS*.",
    "schrabkim": "A. Schrab and I. Kim (2024). Robust kernel hypothesis testing under data corruption. "
    "arXiv:2405.19912.",
    "sun": "Z. Sun and S. Zou (2023). Kernel robust hypothesis testing. *IEEE Transactions on Information Theory* 69.",
    "huber": "P. J. Huber (1964). Robust estimation of a location parameter. *Annals of Mathematical Statistics* 35.",
    "dwass": "M. Dwass (1957). Modified randomization tests for nonparametric hypotheses. "
    "*Annals of Mathematical Statistics* 28.",
    "berger": "R. L. Berger (1982). Multiparameter hypothesis testing and acceptance sampling. *Technometrics* 24.",
    "gneiting": "T. Gneiting and A. Raftery (2007). Strictly proper scoring rules, prediction, and estimation. "
    "*JASA* 102.",
    "waudby": "I. Waudby-Smith and A. Ramdas (2024). Estimating means of bounded random variables by betting. "
    "*JRSS B* 86.",
    "leucht": "A. Leucht and M. Neumann (2013). Dependent wild bootstrap for degenerate U- and V-statistics. "
    "*Journal of Multivariate Analysis* 117.",
    "barp": "A. Barp, F.-X. Briol, A. Duncan, M. Girolami and L. Mackey (2019). Minimum Stein discrepancy estimators. "
    "*NeurIPS*.",
    "postman": "M. Postman, J. Huchra and M. Geller (1986). Probes of large-scale structure in the Corona Borealis "
    "region. *Astronomical Journal* 92.",
}
"""Books and papers by a short name."""


class Group(NamedTuple):
    """Names that belong together, pages of the theory, and keys of the literature."""

    names: str
    pages: str = ""
    literature: str = ""


GROUPS = (
    Group("check region_test robust_ksd_test fit_test predictive_test compare", "regions", "huber berger"),
    Group("ksd_test robust_ksd_test robust_ksdagg_test ksd", "boundary-bootstrap radii", "liu chwialkowski liu2016"),
    Group("ksdagg_test robust_ksdagg_test robust_ksd_test", "aggregation", "schrab"),
    Group("mcmc_test thin WildBootstrap", "chains", "gorham leucht"),
    Group("mode_weights_test jumps.ModeJumps jumps.Modes jumps.Jumps jumps.find_modes", "many-modes"),
    Group("dcmmd_test mmd_dev_test robust_ksd_test", "", "schrabkim sun"),
    Group("fit_test RefitBootstrap ProjectedBootstrap fitting.as_family FitResult", "fitted"),
    Group("predictive_test PredictiveResult check", "predictive", "berger"),
    Group("compare ComparisonResult check", "comparison", "gneiting"),
    Group("SequentialTest Betting Monitor", "betting monitor", "waudby"),
    Group("Monitor Alarm SequentialTest", "monitor"),
    Group("split robust_ksd_test"),
    Group("region_test RegionResult RegionFitResult CheckResult ColumnsResult check", "regions", "berger"),
    Group("GofResult FitResult robust_ksd_test explain.Explanation", "equivalence"),
    Group("power sample_size predict_cost planning.Power planning.SampleSize"),
    Group("explain.Explanation explain.Influence explain.SteinWitness GofResult", "explanations"),
    Group(
        "explain.Concession explain.Detectable explain.Removal explain.Fragility explain.ToleranceCurve",
        "explanations equivalence",
    ),
    Group("as_model from_score from_scores from_log_density from_draws models.Model check_score"),
    Group("in_base_space as_model tilts.EdgeTilt", "edges"),
    Group(
        "models.Gaussian models.StudentT models.GaussianMixture models.GaussianBernoulliRBM models.Independent "
        "models.Draws models.Model as_model"
    ),
    Group("models.KernelExponentialFamily fitting.fit_kernel_exponential_family fitting.ExponentialFamily", "", "barp"),
    Group(
        "fitting.fit_minimum_ksd fitting.MinimumKSDFit fitting.MinimumKSD",
        "fitted",
        "barp",
    ),
    Group("fitting.as_family fitting.Family fitting.ExponentialFamily fit_test", "fitted"),
    Group("fitting.Estimator fitting.Estimate fitting.MaximumLikelihood fitting.MinimumKSD", "fitted"),
    Group("adapters.Adapter adapters.register as_model"),
    Group("ksd targeted_ksd ksd_test", "", "liu chwialkowski"),
    Group("InverseMultiquadric Matern kernels.Gaussian kernels.Kernel kernels.median_distance", "", "gorham"),
    Group("PolynomialTilt tilts.PowerTilt tilts.EdgeTilt tilts.Tilt tilts.robust_scatter", "affine", "liu"),
    Group("tau.Ball tau.Box tau.Supremum robust_ksd_test", "supremum"),
    Group("Huber TotalVariation Hellinger KullbackLeibler ChiSquared DensityBand radius.Radius", "radii", "huber"),
    Group("StudentTails Wasserstein ScoreError LikeModel Alternative FixedRadius radius.Radius", "radii"),
    Group(
        "WeightedBootstrap BoundaryBootstrap WildBootstrap calibration.Calibration", "boundary-bootstrap", "liu leucht"
    ),
    Group("MonteCarlo DeviationBound Betting calibration.Calibration", "exact deviation", "dwass"),
    Group(
        "calibration.Calibration calibration.Null calibration.JointNull calibration.BoundingNull "
        "calibration.BootstrapNull"
    ),
    Group("datasets.load_galaxies datasets.load_nile datasets.load_wages datasets.contaminate", "", "postman"),
    Group(
        "SteinballWarning cautions.DependentRowsWarning cautions.FewRowsWarning cautions.FittedOnDataWarning "
        "cautions.LogDensityWarning cautions.RareFeaturesWarning"
    ),
    Group(
        "cautions.RemovalWarning cautions.RoundedDataWarning cautions.SeparatedModesWarning "
        "cautions.SteinIdentityWarning cautions.UnboundedSteinKernelWarning cautions.UncertifiedSupremumWarning "
        "cautions.WrongScoreWarning SteinballWarning"
    ),
)
"""A name may be in several groups."""


def related(name: str) -> tuple[list[str], list[str], list[str]]:
    """Names to see, pages with proofs and literature for a public name, each once and in the order of the groups.

    Examples
    --------
    >>> related("targeted_ksd")[0]
    ['ksd', 'ksd_test']
    """
    own = [group for group in GROUPS if name in group.names.split()]
    seen, pages, keys = (
        list(dict.fromkeys(word for group in own for word in group[part].split() if word != name)) for part in range(3)
    )
    return seen[:8], pages, [LITERATURE[key] for key in keys]
