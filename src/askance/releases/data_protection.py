"""What a study file says about why people are asked, who answers for it, and for how long anything is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

from askance.errors import InvalidInput


@dataclass(frozen=True)
class DataProtection:
    """The table ``[privacy]`` of a study file; what is not said is empty. It has no effect on anything but dossiers.

    Parameters
    ----------
    controller, contact : str
        Who decides what is done with the data, and how they are reached.
    purpose, legal_basis : str
        What the answers are used for, and what allows that.
    retention : str
        How long what is kept, in words.
    delete_by : date, optional
        The last day on which the reports may exist; a dossier made later says so in its first line.
    recipients : str
        Who is given the release.
    truth : str
        Who holds the true answers, if anybody does.

    Examples
    --------
    >>> from askance.releases import DataProtection
    >>> DataProtection(purpose="a study of cheating", delete_by="2030-12-31").delete_by
    datetime.date(2030, 12, 31)
    """

    controller: str = ""
    contact: str = ""
    purpose: str = ""
    legal_basis: str = ""
    retention: str = ""
    delete_by: date | None = None
    recipients: str = ""
    truth: str = ""

    def __post_init__(self) -> None:
        for name in KEYS:
            value = getattr(self, name)
            if name == "delete_by":
                vars(self)[name] = _day(value)
            elif not isinstance(value, str):
                raise InvalidInput(f"{name} = {value!r}", "text in quotes")
            else:
                vars(self)[name] = value.strip()

    def to_dict(self) -> dict[str, str]:
        """Return what is said, JSON-able."""
        return {name: str(value) for name in KEYS if (value := getattr(self, name))}

    @classmethod
    def from_table(cls, said: Mapping[str, Any]) -> "DataProtection":
        """Read the table of a study file; an empty text is refused, because it says nothing."""
        for name, value in said.items():
            if isinstance(value, str) and not value.strip():
                raise InvalidInput(f"{name} = {value!r}", "something to say, or no such line")
        return cls(**said)


def _day(value: Any) -> date | None:
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"delete_by = {value!r}", "a day, such as 2030-12-31") from None


KEYS = tuple(field.name for field in fields(DataProtection))
NOTHING_SAID = DataProtection()
