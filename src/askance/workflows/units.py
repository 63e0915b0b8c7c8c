"""How much of each feature a coefficient is told for: its standard deviation, or what somebody asked for."""

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.learning.face.release_records import FeatureReader, records_of
from askance.learning.face.release_regression import RegressionTerms
from askance.reports.units import Unit, refuse_strangers
from askance.statistics.features import FeatureMoments
from askance.workflows.report_files import OpenReports

_INDICATOR = 1e-9  # E[x^2] against E[x]: equal for a column of zeros and ones, up to rounding
_FAR_FROM_ZERO = 1e-4  # variance against mean square, below which the difference of moments has lost digits


def units_of(opened: OpenReports, engine: Engine) -> tuple[Unit, ...]:
    """Return the unit of every feature of a regression that varies.

    A number has its standard deviation in these data (weighted as the fit is), an indicator goes from 0 to 1, and
    what was asked for goes before both.
    """
    request = opened.request
    reader = RegressionTerms(opened.asked.name, request.formula).reader(opened.release, engine)
    names = list(reader.names)
    refuse_strangers(request.per, names)
    if not names:
        return ()
    mean, square, variance = _moments(opened, engine, reader)
    units = []
    for name, mean_of, square_of, variance_of in zip(names, mean, square, variance, strict=True):
        if name in request.per:
            units.append(Unit(name, request.per[name], "as asked for"))
        elif abs(square_of - mean_of) <= _INDICATOR * square_of:
            units.append(Unit(name, 1.0, "from 0 to 1"))
        elif variance_of > 0:
            units.append(Unit(name, float(np.sqrt(variance_of)), "standard deviation"))
    return tuple(units)


def _moments(opened: OpenReports, engine: Engine, reader: FeatureReader) -> tuple[Floats, Floats, Floats]:
    source, columns = records_of(opened.release, opened.asked, reader, opened.request.weight), len(reader.names)
    sums = engine.reduce(FeatureMoments(columns, True), source)
    second = sums.second / max(sums.weight, np.finfo(float).tiny)
    mean, square = second[0, 1:], np.diag(second)[1:]
    variance = square - mean**2
    if (variance < _FAR_FROM_ZERO * square).any():
        about = engine.reduce(FeatureMoments(columns, True, mean), source)
        variance = np.diag(about.second)[1:] / max(about.weight, np.finfo(float).tiny)
    return mean, square, variance
