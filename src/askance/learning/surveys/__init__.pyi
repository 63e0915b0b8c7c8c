from askance.learning.surveys.covariates import Covariates as Covariates
from askance.learning.surveys.list_counts import ListCounts as ListCounts
from askance.learning.surveys.list_design_test import DesignTest as DesignTest
from askance.learning.surveys.list_design_test import design_test as design_test
from askance.learning.surveys.list_experiment import ListExperiment as ListExperiment
from askance.learning.surveys.list_likelihood import ListModel as ListModel
