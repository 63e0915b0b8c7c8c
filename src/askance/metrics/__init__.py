"""How well a model does on the hidden truth, from reports of it.

Every metric undoes the channel, has a standard error, and says whether it is unbiased or consistent.

Examples
--------
>>> import askance as ask
>>> reports = ["yes"] * 38 + ["no"] * 12 + ["yes"] * 12 + ["no"] * 38
>>> predicted = ["yes"] * 50 + ["no"] * 50
>>> print(ask.metrics.accuracy(reports, predicted, ask.Warner(0.8)))
0.933 (standard error 0.072)
"""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
