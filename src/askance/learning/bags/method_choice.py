"""Which method learns from bags best: chosen by what the bags are, before anything is learned."""

from askance.learning.bags.bag_diagnosis import BagDiagnosis
from askance.learning.bags.bags import Bags

LINEAR = ("mean-map", "laplacian", "alternating", "bag-likelihood", "linear-committee", "overall-mix")
METHODS = ("auto", *LINEAR, "bag-classifier", "relabel", "committee")
# Those that take a class to look the same in every bag.
NEEDS_ALIKE = ("mean-map", "bag-classifier", "relabel", "committee")
# Those that learn from the differences between proportions alone, and not from the spread of rows within bags.
NEEDS_DIFFERENCES = ("mean-map", "laplacian", "bag-classifier")

_MANY_BAGS = 10  # bags for each parameter, from which the likelihood needs no help
_ENOUGH = 100  # labels that the bags are worth, from which a flexible model can learn
_PURE = 0.9  # the part of the labels' variance between bags from which they are as good as labels
# Nats by which a model must be likelier than none, all its parameters considered: odds of 4.5 to 1. Of breast cancer in
# 2 to 50 bags of random or of equal proportions (64 sets), 13 fits below it were inverted, and beyond it
# one, at 3.9 nats, which trying the mirror image sets right.
TOLD = 1.5


def chosen_method(found: BagDiagnosis, bags: Bags, parameters: int, flexible: str) -> str:
    """Choose a method; the flexible one may still fall back to the likelihood.

    Parameters
    ----------
    found : BagDiagnosis
    bags : Bags
    parameters : int
        Of a linear model against one class.
    flexible : str
        The method for bags that differ widely in their proportions and in nothing else.
    """
    if found.bags >= _MANY_BAGS * parameters * (found.classes - 1) or bags.variance_between > _PURE:
        return "bag-likelihood"
    if found.alike and not found.at_random and found.labels_worth >= _ENOUGH:
        return flexible
    if found.alike and found.at_random and found.bags < parameters * (found.classes - 1):
        return "alternating"
    return "linear-committee"


def doubts(method: str, found: BagDiagnosis, gain: float | None) -> list[str]:
    """Return what a user must know who asked for a method by name, or got one.

    Parameters
    ----------
    method : str
    found : BagDiagnosis
    gain : float, optional
        Of a likelihood: nats by which the model is likelier than none.
    """
    said = []
    if gain is not None and gain < TOLD:
        every = "Every row gets the overall mix" if method == "overall-mix" else "What was learned may be upside down"
        said.append(
            f"The {found.bags} bags do not tell the classes apart (a model is {gain:+.1f} nats likelier than none; "
            f"{TOLD:g} are needed): {every}. More bags, or bags of more different proportions, would help."
        )
    elif method in NEEDS_DIFFERENCES or found.drowned:
        said.extend(found.notes)
    if found.alike is False and method in NEEDS_ALIKE:
        said.append(
            f"The bags differ in more than their proportions ({found.misfit:.1f} times the distance of chance): how "
            f"the rows of a class look depends on the bag, and method={method!r} takes them to look the same. "
            "method='linear-committee', which 'auto' takes here, leans less on that."
        )
    elif found.alike is False and method != "overall-mix":
        # On bags of Adult by four attributes linear committees had .81 to .83; on six bands of Californian latitude .42
        # and .53 of two draws (labels: .83), and nothing that bags show tells the one from the other.
        said.append(
            f"The bags differ in more than their proportions ({found.misfit:.1f} times the distance of chance): what "
            f"tells bags apart passes for what tells classes apart, and {found.bags} bags cannot show by how much. Try "
            "the model on rows whose labels are known before it is used: score(X, y, of='truth')."
        )
    return said
