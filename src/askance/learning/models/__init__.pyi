from askance.learning.models.families import Chain as Chain
from askance.learning.models.families import Family as Family
from askance.learning.models.families import States as States
from askance.learning.models.indirect_model import IndirectModel as IndirectModel
