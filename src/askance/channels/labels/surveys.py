"""Survey designs: a yes/no question whose answer a coin, a birthday or a deck of cards hides.

Each design is a pair of probabilities, P(yes | carrier) and P(yes | non-carrier); a *carrier* is somebody
for whom the sensitive statement is true. Classes are ("no", "yes") unless given; the second is the carrier's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from askance.channels.alphabet import Label, Labels
from askance.channels.labels.survey_design import NO_YES, MirroredDesign, SurveyDesign
from askance.channels.labels.unknown import UNKNOWN, Unknown
from askance.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class Warner(MirroredDesign):
    """Answer the statement with probability p, its negation otherwise. P(yes): p, 1 - p.

    Examples
    --------
    >>> from askance import Warner
    >>> Warner(0.8).matrix.round(3)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    kind: ClassVar[str] = "warner"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, classes: Labels = NO_YES) -> None: ...

    def describe(self) -> str:
        return (
            f"With probability {_said(self.p)} the respondent answers the sensitive statement, otherwise its "
            "negation; nobody else knows which of the two was answered."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Crosswise(MirroredDesign):
    """Say whether two answers agree: the sensitive one and one of known probability p. P(yes): p, 1 - p.

    The report "yes" stands for "both or neither".

    Examples
    --------
    >>> from askance import Crosswise
    >>> round(Crosswise(0.25).guarantee.epsilon, 4)
    1.0986
    """

    kind: ClassVar[str] = "crosswise"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, classes: Labels = NO_YES) -> None: ...

    def describe(self) -> str:
        return (
            f"The respondent says only whether the answers to two questions agree ({self._yes}) or differ; "
            f"the second, harmless one is true with probability {_said(self.p)}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class ForcedResponse(SurveyDesign):
    """Say "no" with probability p_no, "yes" with probability p_yes, else the truth. P(yes): 1 - p_no, p_yes.

    Examples
    --------
    >>> from askance import ForcedResponse
    >>> ForcedResponse(p_no=1/6, p_yes=1/6).matrix.round(3)
    array([[0.833, 0.167],
           [0.167, 0.833]])
    """

    p_no: float
    p_yes: float
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "forced-response"
    useless_when: ClassVar[str] = "p_no + p_yes = 1"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p_no: float, p_yes: float, classes: Labels = NO_YES) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.unknowns and self.p_no + self.p_yes > 1:
            raise InvalidInput(
                f"p_no={self.p_no:g} and p_yes={self.p_yes:g} add up to more than 1",
                "two forced shares that leave room for the truth",
            )

    def yes_probabilities(self) -> tuple[float, float]:
        return 1 - self.p_no, self.p_yes

    def describe(self) -> str:
        return (
            f"A random device tells the respondent to say {self.classes[0]!r} (probability {_said(self.p_no)}), "
            f"to say {self._yes} (probability {_said(self.p_yes)}) or to tell the truth."
        )


@dataclass(frozen=True, eq=False, repr=False)
class UnrelatedQuestion(SurveyDesign):
    """Answer the sensitive question with probability p, else a harmless one that is true with ``prevalence``.

    P(yes): p + (1 - p) r, (1 - p) r. With ``prevalence=Unknown()`` two groups with different p identify r together
    with the prevalence of the sensitive answer.

    Examples
    --------
    >>> from askance import UnrelatedQuestion
    >>> UnrelatedQuestion(0.7, prevalence=0.5).matrix.round(3)
    array([[0.85, 0.15],
           [0.15, 0.85]])
    """

    p: float
    prevalence: float | Unknown
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "unrelated-question"
    useless_when: ClassVar[str] = "p = 0"
    unknown_names: ClassVar[Mapping[str, str]] = {"prevalence": "unrelated_prevalence"}

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, prevalence: float | Unknown, classes: Labels = NO_YES) -> None: ...

    def yes_probabilities(self) -> tuple[float, float]:
        harmless = (1 - self.p) * self.prevalence  # type: ignore[operator]
        return self.p + harmless, harmless

    def describe(self) -> str:
        return (
            f"With probability {_said(self.p)} the respondent answers the sensitive question, otherwise a "
            f"harmless one whose answer is {self._yes} with {_known(self.prevalence)}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Mangat(SurveyDesign):
    """Carriers say yes; others use Warner's device. P(yes): 1, 1 - p.

    A report "no" can come from a non-carrier only, so there is no guarantee.

    Examples
    --------
    >>> from askance import Mangat
    >>> print(Mangat(0.7).guarantee)
    no privacy guarantee (epsilon is infinite) for one answer
    """

    p: float
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "mangat"
    useless_when: ClassVar[str] = "p = 0"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, classes: Labels = NO_YES) -> None: ...

    def yes_probabilities(self) -> tuple[float, float]:
        return 1.0, 1 - self.p

    def describe(self) -> str:
        return (
            f"Carriers say {self._yes}; everybody else says {self.classes[0]!r} with probability {_said(self.p)} "
            f"and {self._yes} otherwise."
        )


@dataclass(frozen=True, eq=False, repr=False)
class StochasticLieDetector(SurveyDesign):
    """Mangat's design in which only some carriers tell the truth. P(yes): truthful, 1 - p.

    Two groups with different p identify the share of carriers who tell the truth together with the prevalence.

    Examples
    --------
    >>> from askance import StochasticLieDetector, Unknown
    >>> StochasticLieDetector(0.7, truthful=0.9).matrix.round(3)
    array([[0.7, 0.1],
           [0.3, 0.9]])
    >>> StochasticLieDetector(0.7).unknowns
    {'truthful': Unknown()}

    References
    ----------
    Moshagen, Musch & Erdfelder (2012).
    """

    p: float
    truthful: float | Unknown = UNKNOWN
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "stochastic-lie-detector"
    useless_when: ClassVar[str] = "truthful = 1 - p"
    obedient: ClassVar[Mapping[str, float]] = {"truthful": 1.0}

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, truthful: float | Unknown = UNKNOWN, classes: Labels = NO_YES) -> None: ...

    def yes_probabilities(self) -> tuple[float, float]:
        return self.truthful, 1 - self.p  # type: ignore[return-value]

    def describe(self) -> str:
        return (
            f"Carriers are asked to say {self._yes}, and do so with {_known(self.truthful)}; everybody else says "
            f"{self.classes[0]!r} with probability {_said(self.p)} and {self._yes} otherwise."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Triangular(SurveyDesign):
    """Say "yes" if the sensitive statement or a harmless one of probability p holds. P(yes): 1, p.

    A report "no" can come from a non-carrier only, so there is no guarantee.

    Examples
    --------
    >>> from askance import Triangular
    >>> Triangular(0.25).matrix
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """

    p: float
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "triangular"
    useless_when: ClassVar[str] = "p = 1"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p: float, classes: Labels = NO_YES) -> None: ...

    def yes_probabilities(self) -> tuple[float, float]:
        return 1.0, self.p

    def describe(self) -> str:
        return (
            f"The respondent says {self._yes} if the sensitive statement, or a harmless one that is true "
            f"with probability {_said(self.p)}, or both are true."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Kuk(SurveyDesign):
    """Name the colour of a card from one of two decks; the truth says which deck.

    P(yes): p_carrier, p_noncarrier.

    Examples
    --------
    >>> from askance import Kuk
    >>> round(Kuk(0.8, 0.2).guarantee.epsilon, 4)
    1.3863
    """

    p_carrier: float
    p_noncarrier: float
    classes: tuple[Label, ...] = NO_YES
    kind: ClassVar[str] = "kuk"
    useless_when: ClassVar[str] = "p_carrier = p_noncarrier"
    has_safe_answer: ClassVar[bool] = False

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, p_carrier: float, p_noncarrier: float, classes: Labels = NO_YES) -> None: ...

    def yes_probabilities(self) -> tuple[float, float]:
        return self.p_carrier, self.p_noncarrier

    def describe(self) -> str:
        return (
            "The respondent draws a card from one of two decks, chosen by the truth, and names its colour; "
            f"{self._yes} stands for red, which has probability {_said(self.p_carrier)} in the carriers' deck and "
            f"{_said(self.p_noncarrier)} in the other."
        )


def _said(value: float | Unknown) -> str:
    return "that is unknown" if isinstance(value, Unknown) else f"{value:g}"


def _known(value: float | Unknown) -> str:
    return "unknown probability" if isinstance(value, Unknown) else f"known probability {value:g}"
