"""Names of the parameters of linear classifiers."""

from collections.abc import Sequence

from askance.channels.base import LabelChannel


def parameter_names(channel: LabelChannel, features: Sequence[str], intercept: bool) -> tuple[str, ...]:
    """Name the parameters, class by class and intercept first."""
    columns = [*(["Intercept"] if intercept else []), *features]
    if len(channel.classes) == 2:
        return tuple(columns)
    return tuple(f"{label}: {column}" for label in channel.classes[1:] for column in columns)
