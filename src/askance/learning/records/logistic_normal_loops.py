"""The compiled inner loop of ``logistic_normal``: one logit after another, nothing in between."""

import math

from askance.compiled import compiled

_ROOT_HALF = math.sqrt(0.5)  # the tail of a normal law is erfc(x / sqrt 2) / 2
_NORMAL_PEAK = 1 / math.sqrt(2 * math.pi)  # its density at zero
_MACKAY = math.pi / 8  # the probit with the sigmoid's slope at zero (MacKay 1992)


@compiled
def fill_expected_sigmoid(mean, variance, shares, scales, tail, probability, by_mean, by_variance):  # type: ignore[no-untyped-def]
    """Fill E[sigmoid(z)], z ~ N(mean, variance), and its derivatives by mean and variance; all arrays are flat."""
    for i in range(mean.shape[0]):
        at, width = mean[i], variance[i]
        root = 1 / math.sqrt(1 + _MACKAY * width)
        scaled = at * root
        power = math.exp(-abs(scaled))
        total = tail * (1.0 if scaled > 0 else power) / (1 + power)
        slope = tail * power / (1 + power) ** 2 * root
        drift = -0.5 * _MACKAY * slope * scaled * root
        for j in range(shares.shape[0]):
            root = 1 / math.sqrt(scales[j] ** 2 + width)
            scaled = at * root
            total += shares[j] * 0.5 * math.erfc(-scaled * _ROOT_HALF)
            step = shares[j] * _NORMAL_PEAK * math.exp(-0.5 * scaled * scaled) * root
            slope += step
            drift -= 0.5 * step * scaled * root
        probability[i] = total
        by_mean[i] = slope
        by_variance[i] = drift
