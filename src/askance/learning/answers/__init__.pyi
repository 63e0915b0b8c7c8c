from askance.learning.answers.indirect_classifier import IndirectClassifier as IndirectClassifier
from askance.learning.answers.prevalence import Prevalence as Prevalence
