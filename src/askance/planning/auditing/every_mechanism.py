"""Every mechanism of the library, with an example to audit: taken from the registries, so that none is forgotten."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import numpy as np

from askance.channels import attributes, labels, rows
from askance.channels.channel import Channel
from askance.channels.guarantee import Guarantee
from askance.channels.region_counts import RegionCounts
from askance.channels.specs import EVERY_CHANNEL
from askance.planning.auditing.audit_questions import check_asked
from askance.planning.auditing.audit_report import AuditReport
from askance.planning.auditing.channel_audit import audit
from askance.planning.auditing.counts_audit import audit_counts
from askance.planning.auditing.mean_operator_audit import audit_mean_operator
from askance.planning.auditing.release_audit import ReleaseAudit
from askance.releases.counts_task import Mechanism as CountsMechanism
from askance.releases.label_task import Mechanism as SumsMechanism

# Bounds of two columns of unlike size, one of which reaches below zero: any others would do.
_EXAMPLE_COLUMNS = {"age": (0.0, 100.0), "income": (-5.0, 15.0)}
_DELTA = 1e-3  # for mechanisms that have one
_FEWER = 25  # times fewer releases than reports: each takes a millisecond or more
_FEWEST = 40  # releases
_EXAMPLES: tuple[Any, ...] = (
    labels.RandomizedResponse(("never", "once", "often"), epsilon=1.0),
    labels.FiniteChannel([[0.7, 0.2], [0.2, 0.3], [0.1, 0.5]], ["no", "yes"], ["low", "middle", "high"]),
    labels.Identity(("no", "yes")),
    labels.Warner(0.75),
    labels.Crosswise(0.25),
    labels.ForcedResponse(1 / 6, 1 / 6),
    labels.UnrelatedQuestion(0.7, 0.4),
    labels.Mangat(0.7),
    labels.Triangular(0.25),
    labels.Kuk(0.8, 0.3),
    labels.StochasticLieDetector(0.7, truthful=0.9),
    labels.Cheaters(labels.ForcedResponse(1 / 6, 1 / 6), share=0.1),
    labels.RandomAnswers(labels.Crosswise(0.25), share=0.15),
    labels.Anchor(labels.RandomAnswers(labels.Crosswise(0.25), share=0.15)),
    rows.CoordinateRelease(4, 1.0),
    rows.PerValueFlip(5, 3.0),
    rows.PrivUnit(3, 2.0),
    rows.TripleRelease(3, 4.0),
    rows.TripleRelease(3, 4.0, signed=True),
    rows.WindowRelease(6, 3.0),
    rows.PrivateNumber(0.0, 100.0, 2.0),
    rows.PrivateNumber(0.0, 100.0, 2.0, "piecewise"),
    rows.PrivateNumber(0.0, 100.0, 2.0, "duchi"),
    rows.SampledCoordinates(5, 6.0),
    *(rows.PrivateRow(_EXAMPLE_COLUMNS, 4.0, mechanism) for mechanism in rows.MECHANISMS),
    RegionCounts(["noun", "verb"], width=3),
    attributes.StateFlip(4, 0.3, dim=3),
    attributes.GaussianNoise(1.0, dim=2, bounds=(0.0, 1.0)),
    attributes.LaplaceNoise(1.0, dim=2, bounds=(0.0, 1.0)),
    attributes.PerCoordinate(
        [attributes.StateFlip(2, 0.2, dim=1), attributes.LaplaceNoise(1.0, dim=1, bounds=(0.0, 1.0))]
    ),
    attributes.RowChannel(attributes.StateFlip(4, 0.3, dim=3), label=labels.Warner(0.8)),
    labels.DesignPerRow({"cards": labels.Warner(0.8), "dice": labels.ForcedResponse(0.1, 0.3)}),
    labels.Memoised(labels.RandomizedResponse(("no", "yes"), epsilon=2.0), 1.0),
    labels.Coarsening({"some": ("once", "often"), "none": ("never",)}),
    labels.CandidateSets(("never", "once", "often"), size=2),
    labels.Repeated(labels.Warner(0.75), 2),
    labels.PerToken(labels.RandomizedResponse(("noun", "verb", "other"), epsilon=2.0)),
)


def mechanism_names() -> list[str]:
    """Return the names of all that :func:`audit_everything` audits."""
    return [name for name, _ in _audits(None, 0.5)]


def audit_everything(
    draws: int | None = None, error_rate: float = 1e-3, progress: Callable[[int, int], None] | None = None
) -> dict[str, AuditReport | ReleaseAudit]:
    """Audit every mechanism of the library: each kind of channel, and each way to release sums and counts.

    Parameters
    ----------
    draws : int, optional
        Reports to draw for each; a 25th of it for releases of totals, which are costly. Some seconds' worth each if not
        given.
    error_rate : float
        The probability with which any of them may fail although all are honest.
    progress : function of two numbers, optional
        Called with how many are done, and how many there are.

    Returns
    -------
    dict
        By name, what was found.
    """
    check_asked(draws, error_rate)
    count = len(mechanism_names())
    found = {}
    for done, (name, run) in enumerate(_audits(draws, error_rate / count)):
        if progress is not None:
            progress(done, count)
        found[name] = run()
    return found


def _audits(draws: int | None, rate: float) -> Iterator[tuple[str, Callable[[], AuditReport | ReleaseAudit]]]:
    for kind in EVERY_CHANNEL:
        examples = [example for example in _EXAMPLES if type(example) is kind]
        if not examples:
            yield kind.kind, partial(_not_tried, kind.kind, rate)
        for example in examples:
            name = kind.kind if len(examples) == 1 else f"{kind.kind} {_told_apart(example)}"
            yield name, partial(_channel, example, draws, rate)
    releases = None if draws is None else max(_FEWEST, draws // _FEWER)
    for name in get_args(SumsMechanism):
        if name != "auto":
            for shape, how in (("none", ""), ("auto", ", shaped")):
                run = partial(_sums, name, shape, releases, rate)
                yield f"mean operator{how}: {name}", run
    for name in get_args(CountsMechanism):
        if name != "auto":
            yield f"counts: {name}", partial(_counts, name, releases, rate)


def _told_apart(example: Any) -> str:
    given = example.parameters()
    return str(given.get("mechanism") or given.get("method") or ("signed" if given.get("signed") else "unsigned"))


def _channel(channel: Any, draws: int | None, rate: float) -> AuditReport | ReleaseAudit:
    if not isinstance(channel, Channel):  # nothing is drawn to hide anything
        return ReleaseAudit(repr(channel), channel.guarantee, 0, rate, ())
    return audit(channel, draws, rate)


def _not_tried(kind: str, rate: float) -> ReleaseAudit:
    wrong = (f"there is no example of {kind} to audit: add one to every_mechanism",)
    return ReleaseAudit(kind, Guarantee(float("inf")), 0, rate, (), wrong)


def _sums(mechanism: str, shape: Any, draws: int | None, rate: float) -> ReleaseAudit:
    rng = np.random.default_rng(0)  # public features: any will do
    features, labels = rng.normal(size=(40, 2)), np.where(np.arange(40) % 3, 1, -1)
    features = features if shape == "none" else features * [1, 100] + [0, 500]  # where there is something to shape
    delta = _DELTA if mechanism == "gaussian" else 0
    return audit_mean_operator(features, labels, 1, delta, mechanism, draws=draws, error_rate=rate, shape=shape)


def _counts(mechanism: str, draws: int | None, rate: float) -> ReleaseAudit:
    pure = mechanism in ("discrete-laplace", "laplace", "laplace-prior")
    counts = [12, 18] if mechanism in ("laplace-prior", "dirichlet") else [12, 18, 10]
    counts = [500, 500] if mechanism == "scaled-dirichlet-paper" else counts  # which refuses small counts
    return audit_counts(counts, 1, 0 if pure else _DELTA, mechanism, draws=draws, error_rate=rate)
