"""Types of arrays, named once for all modules."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
# Reports, labels and states travel as codes: positions in an alphabet, in whatever whole numbers hold them.
Codes: TypeAlias = NDArray[np.unsignedinteger] | NDArray[np.signedinteger]
