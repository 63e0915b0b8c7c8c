"""askance (ask + chance): learn models from what people were willing to tell you."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module. Importing askance imports none of them: each is loaded when first used,
# so that `import askance` and the command line start at once.
_PUBLIC = {
    "AskanceError": "askance.errors",
    "AskanceWarning": "askance.errors",
    "BudgetSpent": "askance.errors",
    "CoordinateRelease": "askance.channels.coordinate_release",
    "CountsRelease": "askance.releases.counts_release",
    "CountTagger": "askance.estimators.count_tagger",
    "Crosswise": "askance.channels.surveys",
    "DesignPerRow": "askance.channels.design_per_row",
    "FiniteChannel": "askance.channels.finite",
    "ForcedResponse": "askance.channels.surveys",
    "GaussianNoise": "askance.channels.additive_noise",
    "Guarantee": "askance.channels.guarantee",
    "Identity": "askance.channels.finite",
    "IndirectClassifier": "askance.estimators.indirect_classifier",
    "IndirectRegressor": "askance.estimators.indirect_regressor",
    "InvalidInput": "askance.errors",
    "Kuk": "askance.channels.surveys",
    "LaplaceNoise": "askance.channels.additive_noise",
    "Ledger": "askance.releases.ledger",
    "Mangat": "askance.channels.surveys",
    "MeanOperator": "askance.releases.mean_operator",
    "MeanOperatorClassifier": "askance.estimators.mean_operator_classifier",
    "PerValueFlip": "askance.channels.per_value_flip",
    "Prevalence": "askance.estimators.prevalence",
    "PrivUnit": "askance.channels.priv_unit",
    "PrivateNumber": "askance.channels.private_number",
    "PrivateRow": "askance.channels.private_row",
    "ProportionClassifier": "askance.estimators.proportion_classifier",
    "RandomizedResponse": "askance.channels.randomized_response",
    "RegionCounts": "askance.channels.region_counts",
    "RegionRelease": "askance.releases.region_release",
    "RatioEstimator": "askance.estimators.ratio_estimator",
    "Release": "askance.releases.release",
    "ReleaseError": "askance.errors",
    "RowChannel": "askance.channels.row_channel",
    "SampledCoordinates": "askance.channels.sampled_coordinates",
    "StateFlip": "askance.channels.state_flip",
    "SpreadClassifier": "askance.estimators.spread_classifier",
    "SpreadFit": "askance.estimators.own_model",
    "Study": "askance.releases.study",
    "Triangular": "askance.channels.surveys",
    "TripleRelease": "askance.channels.triple_release",
    "Unidentifiable": "askance.errors",
    "UnrelatedQuestion": "askance.channels.surveys",
    "Warner": "askance.channels.surveys",
    "WindowRelease": "askance.channels.window_release",
    "advise_bags": "askance.planning.bag_advice",
    "audit": "askance.planning.audit",
    "channel_from_spec": "askance.channels.specs",
    "fit_spread": "askance.estimators.own_model",
    "load_model": "askance.estimators.saving",
    "plan": "askance.planning.plan",
    "read_release": "askance.releases.release",
    "release_counts": "askance.releases.counts_release",
    "release_mean_operator": "askance.releases.mean_operator_release",
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'askance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from askance.channels.additive_noise import GaussianNoise as GaussianNoise
    from askance.channels.additive_noise import LaplaceNoise as LaplaceNoise
    from askance.channels.coordinate_release import CoordinateRelease as CoordinateRelease
    from askance.channels.design_per_row import DesignPerRow as DesignPerRow
    from askance.channels.finite import FiniteChannel as FiniteChannel
    from askance.channels.finite import Identity as Identity
    from askance.channels.guarantee import Guarantee as Guarantee
    from askance.channels.per_value_flip import PerValueFlip as PerValueFlip
    from askance.channels.priv_unit import PrivUnit as PrivUnit
    from askance.channels.private_number import PrivateNumber as PrivateNumber
    from askance.channels.private_row import PrivateRow as PrivateRow
    from askance.channels.randomized_response import RandomizedResponse as RandomizedResponse
    from askance.channels.region_counts import RegionCounts as RegionCounts
    from askance.channels.row_channel import RowChannel as RowChannel
    from askance.channels.sampled_coordinates import SampledCoordinates as SampledCoordinates
    from askance.channels.specs import channel_from_spec as channel_from_spec
    from askance.channels.state_flip import StateFlip as StateFlip
    from askance.channels.surveys import Crosswise as Crosswise
    from askance.channels.surveys import ForcedResponse as ForcedResponse
    from askance.channels.surveys import Kuk as Kuk
    from askance.channels.surveys import Mangat as Mangat
    from askance.channels.surveys import Triangular as Triangular
    from askance.channels.surveys import UnrelatedQuestion as UnrelatedQuestion
    from askance.channels.surveys import Warner as Warner
    from askance.channels.triple_release import TripleRelease as TripleRelease
    from askance.channels.window_release import WindowRelease as WindowRelease
    from askance.errors import AskanceError as AskanceError
    from askance.errors import AskanceWarning as AskanceWarning
    from askance.errors import BudgetSpent as BudgetSpent
    from askance.errors import InvalidInput as InvalidInput
    from askance.errors import ReleaseError as ReleaseError
    from askance.errors import Unidentifiable as Unidentifiable
    from askance.estimators.count_tagger import CountTagger as CountTagger
    from askance.estimators.indirect_classifier import IndirectClassifier as IndirectClassifier
    from askance.estimators.indirect_regressor import IndirectRegressor as IndirectRegressor
    from askance.estimators.mean_operator_classifier import MeanOperatorClassifier as MeanOperatorClassifier
    from askance.estimators.own_model import SpreadFit as SpreadFit
    from askance.estimators.own_model import fit_spread as fit_spread
    from askance.estimators.prevalence import Prevalence as Prevalence
    from askance.estimators.proportion_classifier import ProportionClassifier as ProportionClassifier
    from askance.estimators.ratio_estimator import RatioEstimator as RatioEstimator
    from askance.estimators.saving import load_model as load_model
    from askance.estimators.spread_classifier import SpreadClassifier as SpreadClassifier
    from askance.planning.audit import audit as audit
    from askance.planning.bag_advice import advise_bags as advise_bags
    from askance.planning.plan import plan as plan
    from askance.releases.counts_release import CountsRelease as CountsRelease
    from askance.releases.counts_release import release_counts as release_counts
    from askance.releases.ledger import Ledger as Ledger
    from askance.releases.mean_operator import MeanOperator as MeanOperator
    from askance.releases.mean_operator_release import release_mean_operator as release_mean_operator
    from askance.releases.region_release import RegionRelease as RegionRelease
    from askance.releases.release import Release as Release
    from askance.releases.release import read_release as read_release
    from askance.releases.study import Study as Study
