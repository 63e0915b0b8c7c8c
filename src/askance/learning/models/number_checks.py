"""Whether reports of numbers can have come from the noise that is said to have made them.

Noise leaves marks that no truth can undo. All reports vary at least as much as their noise; several reports of one
person, about one truth, vary exactly as much.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from askance.channels.report_columns import NumberReports, ReportColumn

_LIKELY = 5.0  # standard errors, as for the reports of records: 3e-7 by chance, a few times 1e-6 under Laplace noise
_LEAST = 50  # reports beyond the first of each person, below which standard errors say little


def noise_remarks(columns: Sequence[ReportColumn], person: NDArray[np.int64] | None) -> Iterator[str]:
    """Say which reports vary less than their noise, or those of one person more or less."""
    for j, one in enumerate(columns):
        if not isinstance(one, NumberReports):
            continue
        who = np.zeros(len(one.reports), dtype=np.int64) if person is None else person
        times = np.bincount(who)
        free = len(who) - len(times)
        if free < _LEAST:
            continue
        around = one.reports - (np.bincount(who, one.reports) / times)[who]
        ratio = float(around @ around) / (free * one.law.variance)
        # The variance of a sum of squares about the mean of m: 2 (m - 1) + (kurtosis - 3) (m - 1)^2 / m.
        spread = float((2 * (times - 1) + (one.law.kurtosis - 3) * (times - 1) ** 2 / times).sum()) / free**2
        # The cube root of a sum of squares is next to normal (Wilson & Hilferty 1931); the ratio itself is skewed.
        away = (np.cbrt(ratio) - (1 - spread / 9)) / (np.sqrt(spread) / 3)
        said = f"{ratio:.2g} times the variance of the noise ({abs(away):.0f} standard errors)"
        if person is not None and abs(away) > _LIKELY:
            yield (
                f"Reports of one person about attribute {j + 1} have {said}: they are not about one truth, or not of "
                "this channel. Trust no estimate below."
            )
        elif person is None and away < -_LIKELY:
            yield f"Reports about attribute {j + 1} have {said}: they are not of this channel. Trust no estimate below."
