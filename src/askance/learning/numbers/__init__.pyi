from askance.learning.numbers.indirect_regressor import HELD_OUT as HELD_OUT
from askance.learning.numbers.indirect_regressor import IndirectRegressor as IndirectRegressor
from askance.learning.numbers.moment_readers import HiddenRows as HiddenRows
from askance.learning.numbers.second_moments import SecondMoments as SecondMoments
