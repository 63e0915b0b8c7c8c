"""Whether a likelihood falls as far as intervals reach: where it does not, no standard error says what reports tell.

Estimate plus or minus 1.96 standard errors takes a log-likelihood for a parabola, which has lost half of 1.96 squared
at both ends. Where the truth may as well be one that separates the classes, the search stops somewhere on a plateau:
nothing is lost towards one side, however far out. Scores are all rounding there, and a sandwich made of them is small.
"""

import numpy as np

from askance.arrays import Floats

_END = 1.959963984540054  # standard errors from the estimate to the end of a 95% interval
# Of what a parabola loses at the ends, the share below which there is none. Three bits, each 1 in 3, 6 or 10 of 100,
# flips of .2 and 2,000 records: intervals of fits that lose less held .54, .61 and .33 of truths, the others .87 and
# more. Of 300 fits whose bits are one in two or three none lost less (60 seeds a cell, others than in the tests).
_LEAST = 0.3


def steps_to_the_ends(information_inverse: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the step to the upper end of each parameter's interval, one a row, and what a parabola loses there.

    ``errors`` are the standard errors that are to be told of the first parameters; where they are smaller than those of
    the information, these count. All other parameters move as they would.
    """
    first = len(errors)
    own = np.diag(information_inverse)[:first]
    reach = _END * np.maximum(errors, np.sqrt(own))
    return (information_inverse[:, :first] * (reach / own)).T, 0.5 * reach**2 / own


def is_flat(lost: Floats, parabola: Floats) -> bool:
    """Whether at some end the log-likelihood has lost next to nothing; ``lost`` is (ends, parameters)."""
    return not bool((lost >= _LEAST * parabola).all())
