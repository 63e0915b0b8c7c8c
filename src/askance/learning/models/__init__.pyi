from askance.learning.models.families import Chain as Chain
from askance.learning.models.families import Family as Family
from askance.learning.models.families import States as States
from askance.learning.models.indirect_model import IndirectModel as IndirectModel
from askance.learning.models.spread_fit import SpreadFit as SpreadFit
from askance.learning.models.spread_fit import fit_spread as fit_spread
