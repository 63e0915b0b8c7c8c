from askance.learning.records.posterior import FeaturePosterior as FeaturePosterior
from askance.learning.records.posterior_draws import NormalDraw as NormalDraw
from askance.learning.records.posterior_draws import posterior_draw as posterior_draw
from askance.learning.records.sampling_fit import sampling_em as sampling_em
from askance.learning.records.spread_classifier import SpreadClassifier as SpreadClassifier
