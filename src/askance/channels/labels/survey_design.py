"""What all survey designs share: a yes/no question, and P(yes | carrier) and P(yes | non-carrier), known or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Label, as_labels
from askance.channels.given_numbers import as_number, shown
from askance.channels.guarantee import Guarantee
from askance.channels.labels.channel_matrix import SAME_LAW
from askance.channels.labels.finite import FiniteLaw
from askance.channels.labels.unknown import Unknown, joined_unknowns, refuse_unknown
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput, Unidentifiable

NO_YES: tuple[Label, Label] = ("no", "yes")


class SurveyDesign(FiniteLaw):
    """A two-state channel given by P(yes | carrier) and P(yes | non-carrier).

    Any of its probabilities may be an :class:`Unknown`.
    """

    useless_when: ClassVar[str]
    # What an unknown probability is called, and its value where people do as asked, if not as the parameter and none.
    unknown_names: ClassVar[Mapping[str, str]] = {}
    obedient: ClassVar[Mapping[str, float]] = {}
    # Whether saying the first class is safe whatever the device said, so that those who do not follow it say so.
    has_safe_answer: ClassVar[bool] = True

    def yes_probabilities(self) -> tuple[float, float]:
        """P(yes | carrier), P(yes | non-carrier)."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        classes = as_labels(self.classes, "classes")
        if len(classes) != 2:
            raise InvalidInput(f"{len(classes)} classes", "two: first the non-carrier's, then the carrier's")
        vars(self).update(classes=classes)
        for name, value in vars(self).copy().items():
            if name != "classes" and not isinstance(value, Unknown):
                vars(self)[name] = checked_probability(value, name)
        if self.unknowns:
            return
        carrier, other = self.yes_probabilities()
        if not (0 <= carrier <= 1 and 0 <= other <= 1):
            raise InvalidInput(f"{self!r} says yes with probability {carrier:g} and {other:g}", "values in [0, 1]")
        if abs(carrier - other) < SAME_LAW:
            raise Unidentifiable(
                f"under {self!r} carriers and non-carriers say {classes[1]!r} with the same probability "
                f"({carrier:g}), so no number of reports can tell how many carriers there are",
                f"a design that avoids {self.useless_when}",
                "Move the probability away from there: the further, the more precise and the less private.",
            )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        if self.unknowns:
            raise refuse_unknown(self)
        return exact_counts(self.yes_no_law())

    def yes_no_law(self) -> Floats:
        """The law that the probabilities make, checked or not."""
        carrier, other = self.yes_probabilities()
        return np.array([[1 - other, 1 - carrier], [other, carrier]])

    @property
    def _yes(self) -> str:
        return f"{self.classes[1]!r}"

    # -- probabilities that nobody knows -------------------------------------------------------------

    @property
    def _unknown_fields(self) -> dict[str, str]:
        """The parameters that are unknown, by the names of the unknowns."""
        given = self.parameters().items()
        return {v.name or self.unknown_names.get(field, field): field for field, v in given if isinstance(v, Unknown)}

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        return joined_unknowns([{name: getattr(self, field)} for name, field in self._unknown_fields.items()])

    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        return self._filled(psi).yes_no_law()

    def _filled(self, psi: Mapping[str, float]) -> Self:
        """Return this design with values that need not make a useful one: nothing is checked."""
        filled = object.__new__(type(self))
        vars(filled).update(self.parameters() | {field: psi[name] for name, field in self._unknown_fields.items()})
        return filled

    def with_values(self, psi: Mapping[str, float]) -> Any:
        values = self.checked_values(psi, every=False)
        fields = self._unknown_fields
        return type(self)(**self.parameters() | {fields[name]: value for name, value in values.items()})

    def without_effect(self, name: str) -> float | None:
        return self.obedient.get(self._unknown_fields[name])

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.worst_guarantee() if self.unknowns else super().guarantee

    @property
    def as_asked(self) -> FiniteLaw:
        if not self.unknowns:
            return self
        obedient = {name: self.without_effect(name) for name in self.unknowns}
        left = [name for name, value in obedient.items() if value is None]
        if left:
            raise InvalidInput(
                f"a draw from {self!r}, whose {', '.join(left)} nobody knows",
                "a design that a device can follow",
                "The respondents answer the harmless question themselves: collect their reports. simulate(truth, rng, "
                f"psi={{{', '.join(f'{name!r}: ...' for name in left)}}}) draws for planning and tests.",
            )
        return self._filled({name: float(value) for name, value in obedient.items() if value is not None})


@dataclass(frozen=True, eq=False, repr=False)
class MirroredDesign(SurveyDesign):
    """A design that says the truth with probability p and its opposite otherwise. P(yes): p, 1 - p."""

    p: float
    classes: tuple[Label, ...] = NO_YES
    useless_when: ClassVar[str] = "p = 0.5"
    has_safe_answer: ClassVar[bool] = False

    def yes_probabilities(self) -> tuple[float, float]:
        return self.p, 1 - self.p


def checked_probability(value: Any, name: str) -> float:
    """Return a probability as a float, or say what is wrong with it."""
    number = as_number(value, name, "a probability, a number from 0 to 1")
    if not 0 <= number <= 1:
        percent = f"For {number:g} per cent write {number / 100:g}." if 1 < number <= 100 else ""
        raise InvalidInput(f"{name}={shown(value)}", "a probability, a number from 0 to 1", percent)
    return number
