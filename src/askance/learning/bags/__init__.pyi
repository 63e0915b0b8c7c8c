from askance.learning.bags.bag_estimator import BagEstimator as BagEstimator
from askance.learning.bags.bag_fit import COLOURS as COLOURS
from askance.learning.bags.bag_fit import MARKERS as MARKERS
from askance.learning.bags.bag_fit import bag_fit_figure as bag_fit_figure
from askance.learning.bags.bags import Bags as Bags
from askance.learning.bags.bags import bag_codes as bag_codes
from askance.learning.bags.bags import read_bags as read_bags
from askance.learning.bags.proportion_classifier import ProportionClassifier as ProportionClassifier
