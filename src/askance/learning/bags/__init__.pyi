from askance.learning.bags.bags import Bags as Bags
from askance.learning.bags.bags import bag_codes as bag_codes
from askance.learning.bags.bags import read_bags as read_bags
from askance.learning.bags.proportion_classifier import ProportionClassifier as ProportionClassifier
from askance.learning.bags.released_bags import bags_of_release as bags_of_release
from askance.learning.bags.released_bags import told_by_counts as told_by_counts
