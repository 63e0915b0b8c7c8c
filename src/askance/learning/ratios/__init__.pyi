from askance.learning.ratios.diagnosis import RatioDiagnosis as RatioDiagnosis
from askance.learning.ratios.ratio_estimator import RatioEstimator as RatioEstimator
from askance.learning.ratios.ratio_figures import ratio_figure as ratio_figure
from askance.learning.ratios.ratio_model import RatioEstimate as RatioEstimate
from askance.learning.ratios.ratio_report import RatioTable as RatioTable
from askance.learning.ratios.ratio_report import ratio_plot as ratio_plot
