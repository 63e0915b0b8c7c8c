"""What people make of a design: some say "no" whatever the device says, some answer at random, and an anchor question
has an answer that is known to be the same for everybody.

Each is a design around another one. How many do so is unknown as a rule; see ``unknown``.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.channels.base import Spec
from askance.channels.guarantee import Guarantee
from askance.channels.labels.finite import FiniteLaw
from askance.channels.labels.survey_design import checked_probability
from askance.channels.labels.unknown import UNKNOWN, Unknown, joined_unknowns, refuse_unknown
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput


class _AroundADesign(FiniteLaw):
    """A design whose reports are those of another one, with another law."""

    device: FiniteLaw

    @property
    def classes(self) -> tuple[Label, ...]:  # type: ignore[override]
        return self.device.classes

    @property
    def report_labels(self) -> tuple[Label, ...]:
        return self.device.report_labels

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        if self.unknowns:
            raise refuse_unknown(self)
        return exact_counts(self.matrix_at({}))

    def design(self, *elsewhere: str) -> Spec:
        return super().design(*elsewhere) | {"device": self.device.design(*elsewhere)}

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.worst_guarantee() if self.unknowns else super().guarantee

    @abstractmethod
    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        """Return the law with the unknown numbers set."""


def _checked_device(device: Any) -> None:
    if not isinstance(device, FiniteLaw):
        raise InvalidInput(f"device={device!r}", "a finite channel such as Crosswise(0.25)")


class _WithShare(_AroundADesign):
    """A share of the respondents does something of its own, whatever the truth is."""

    share: float | Unknown
    share_name: ClassVar[str]

    def __post_init__(self) -> None:
        _checked_device(self.device)
        if not isinstance(self.share, Unknown):
            vars(self).update(share=checked_probability(self.share, "share"))
        if self.own_name in self.device.unknowns:
            raise InvalidInput(
                f"two unknown numbers {self.own_name!r} in {self.device!r}",
                "names that differ",
                "Unknown('another name') makes it another number.",
            )
        self.unknowns  # noqa: B018 - refuses too many

    @property
    def own_name(self) -> str | None:
        """The name of the share, if it is unknown."""
        return (self.share.name or self.share_name) if isinstance(self.share, Unknown) else None

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        own = {self.own_name: self.share} if isinstance(self.share, Unknown) else {}
        return joined_unknowns([self.device.unknowns, own])  # type: ignore[list-item]

    @cached_property
    def guarantee(self) -> Guarantee:
        """That of the device: what others do with their coins does not protect somebody who is known to comply."""
        return replace(super().guarantee, epsilon=self.device.guarantee.epsilon)

    @abstractmethod
    def own_law(self) -> Floats:
        """The law of the reports of those who do something of their own."""

    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        share = self.share if self.own_name is None else psi[self.own_name]
        return (1 - share) * self.device.matrix_at(psi) + share * self.own_law()[:, None]  # type: ignore[operator]

    def with_values(self, psi: Mapping[str, float]) -> Any:
        values = self.checked_values(psi, every=False)
        inside = {name: value for name, value in values.items() if name in self.device.unknowns}
        share = values.get(self.own_name, self.share) if self.own_name else self.share
        return type(self)(**self.parameters() | {"device": self.device.with_values(inside), "share": share})

    def without_effect(self, name: str) -> float | None:
        return 0.0 if name == self.own_name else self.device.without_effect(name)

    @property
    def as_asked(self) -> FiniteLaw:
        return self.device.as_asked if self.own_name is not None else self

    def _in_words(self, who: str) -> str:
        much = "An unknown share" if isinstance(self.share, Unknown) else f"A share of {self.share:g}"
        return f"{self.device.describe()} {much} of the respondents {who}."


@dataclass(frozen=True, eq=False, repr=False)
class Cheaters(_WithShare):
    """A share of the respondents gives the same report whatever the device says: S = (1 - share) S + share e 1'.

    Two designs that differ in how often they make somebody say "yes" identify the share together with the prevalence:
    the *cheater detection model*. Under the extended crosswise design (p for one group, 1 - p for the other)
    ``says="yes"`` are those who always choose "both or neither". The prevalence is that of the others.

    Parameters
    ----------
    device : finite channel
        The design as it was meant.
    share : float or Unknown
    says : label, optional
        The report that they give; the first of the channel's reports, such as "no", if not given.

    Examples
    --------
    >>> import askance as ask
    >>> designs = {
    ...     "low": ask.Cheaters(ask.ForcedResponse(p_no=0.0, p_yes=0.2)),
    ...     "high": ask.Cheaters(ask.ForcedResponse(p_no=0.0, p_yes=0.6)),
    ... }
    >>> fitted = ask.Prevalence(designs).fit(
    ...     ["yes"] * 340 + ["no"] * 660 + ["yes"] * 620 + ["no"] * 380, design=["low"] * 1000 + ["high"] * 1000
    ... )
    >>> {name: round(value, 3) for name, value in fitted.unknowns_.items()}, fitted.proportions_.round(3)
    ({'cheaters': 0.1}, array([0.778, 0.222]))

    References
    ----------
    Clark & Desharnais (1998); Heck, Hoffmann & Moshagen (2018) for the extended crosswise design.
    """

    device: FiniteLaw
    share: float | Unknown = UNKNOWN
    says: Label | None = None

    kind: ClassVar[str] = "cheaters"
    share_name: ClassVar[str] = "cheaters"

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = self.device.report_labels
        if self.says is None:
            vars(self).update(says=labels[0])
        if self.says not in labels:
            raise InvalidInput(f"says={self.says!r}", f"one of the reports {listed(labels)}")

    def own_law(self) -> Floats:
        return np.array([float(label == self.says) for label in self.report_labels])

    def describe(self) -> str:
        return self._in_words(f"say {self.says!r} whatever the device says")


@dataclass(frozen=True, eq=False, repr=False)
class RandomAnswers(_WithShare):
    """A share of the respondents gives any report with the same probability: S = (1 - share) S + share / reports.

    An :class:`Anchor` question, or a group that was asked under another design, identifies the share. The extended
    crosswise design (p and 1 - p) does not: whatever the share is, the two shares of "yes" add up to 1.

    Parameters
    ----------
    device : finite channel
        The design as it was meant.
    share : float or Unknown

    Examples
    --------
    >>> import askance as ask
    >>> ask.RandomAnswers(ask.Crosswise(0.2), share=0.1).matrix.round(3)
    array([[0.23, 0.77],
           [0.77, 0.23]])
    """

    device: FiniteLaw
    share: float | Unknown = UNKNOWN

    kind: ClassVar[str] = "random-answers"
    share_name: ClassVar[str] = "random_answers"

    def own_law(self) -> Floats:
        return np.full(len(self.report_labels), 1 / len(self.report_labels))

    def describe(self) -> str:
        return self._in_words("answer at random")


@dataclass(frozen=True, eq=False, repr=False)
class Anchor(_AroundADesign):
    """A question whose true answer is known to be the same for everybody, asked under a design.

    Its reports say nothing about anybody, and all the more about what people make of the design.

    Parameters
    ----------
    device : finite channel
        The design that the anchor question was asked under, with what people make of it.
    truth : label, optional
        The answer that is known to be true; the first class, such as "no", if not given.

    Examples
    --------
    >>> import askance as ask
    >>> asked = ask.DesignPerRow({
    ...     "question": ask.RandomAnswers(ask.Crosswise(0.25)),
    ...     "anchor": ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.25))),
    ... })
    >>> fitted = ask.Prevalence(asked).fit(
    ...     ["yes"] * 600 + ["no"] * 400 + ["yes"] * 700 + ["no"] * 300, design=["question"] * 1000 + ["anchor"] * 1000
    ... )
    >>> {name: round(value, 3) for name, value in fitted.unknowns_.items()}, fitted.proportions_.round(3)
    ({'random_answers': 0.2}, array([0.75, 0.25]))

    References
    ----------
    Atsusaka & Stevenson (2021).
    """

    device: FiniteLaw
    truth: Label | None = None

    kind: ClassVar[str] = "anchor"

    def __post_init__(self) -> None:
        _checked_device(self.device)
        if self.truth is None:
            vars(self).update(truth=self.device.classes[0])
        if self.truth not in self.device.classes:
            raise InvalidInput(f"truth={self.truth!r}", f"one of the classes {listed(self.device.classes)}")

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        return self.device.unknowns

    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        known = self.device.matrix_at(psi)[:, [self.classes.index(self.truth)]]
        return np.repeat(known, len(self.classes), axis=1)

    def with_values(self, psi: Mapping[str, float]) -> Any:
        return replace(self, device=self.device.with_values(self.checked_values(psi, every=False)))

    def without_effect(self, name: str) -> float | None:
        return self.device.without_effect(name)

    @property
    def as_asked(self) -> FiniteLaw:
        return replace(self, device=self.device.as_asked) if self.unknowns else self

    def describe(self) -> str:
        return f"The true answer is known to be {self.truth!r} for everybody. {self.device.describe()}"
