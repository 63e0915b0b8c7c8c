from askance.engines.local.engine import LocalEngine as LocalEngine
from askance.engines.local.engine import available_cores as available_cores
from askance.engines.local.engine import one_thread_algebra as one_thread_algebra
