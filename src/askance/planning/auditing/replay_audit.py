"""Is a report decided by the truth and the random bytes, and by nothing else?

Somebody who is told the truth about one person in a thousand is hard to notice: among draws, a thousandth of all
reports is lost in chance. With the same random bytes played again (``askance.entropy.Replay``) there is no chance left:

1. the same truths and bytes give the same reports, twice; a difference was decided by something else;
2. where every byte is the same, people with the same answer have the same report; a difference is somebody who is
   treated in a special way;
3. the channel that is made again from the declared spec gives the same reports from the same bytes. Where it does not,
   the two must be equally far from the truth: of the differences, as many for as against.

Only the third is a matter of chance, and has a share of the error rate. A channel that does not draw from the
entropy of this library cannot be judged so, and the audit says it.
"""

import math
import warnings
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteLaw
from askance.channels.specs import channel_from_spec
from askance.entropy.replay import Replay, Tape, TapeEnded
from askance.errors import AskanceError, AskanceWarning
from askance.planning.auditing.audit_questions import SHARES, AuditQuestion, Finding
from askance.planning.auditing.audited_fields import AuditedFields, Truths
from askance.planning.auditing.cell_tests import binomial_p_values

_ROWS = 1 << 17  # of which a thousandth is 131 people: a quarter of them lie, unless the truth is told
_TIMES = 8  # as many rows as draws were asked for: replays are cheap
_NUMBERS = 1 << 21  # fields of all rows, where there are many
_WORK = 1 << 23  # numbers drawn, where a report is costly
_FEWEST_ROWS = 64  # of very wide reports: what touches 7% of people is seen in so many with a probability of .99
_BYTES = (0x00, 0x1F, 0x40, 0x55, 0x7B, 0x9A, 0xB4, 0xC0, 0xE1, 0xFF)  # spread over all bytes, low and high bits
_HARDLY, _MORE = 100, 16  # if at most one report in 100 differs, 16 times as many people are looked at
_CONSTANT_ROWS = 1 << 14  # special treatment of one in 3,600 is seen in so many with a probability of .99
_CONSTANT_BLOCKS = 256  # of one byte again and again: a draw that needs more for so few rows never ends
_ASKS = "Does anything but the truth and the random bytes decide a report?"
_POWER = 0.99  # the probability with which the share that is called noticeable would be noticed


def audit_leaks(fields: AuditedFields, asked: int | None, draws: int, error_rate: float) -> AuditQuestion:
    """Play random bytes again, and look for people who are treated in a special way.

    Parameters
    ----------
    fields : AuditedFields
    asked : int or None
        How many draws were asked for: an audit that should be short is short here too.
    draws : int
        How many reports the audit compares with the declared law, to say which share of leaks these would show.
    error_rate : float
    """
    rng = np.random.default_rng()
    rows = max(_FEWEST_ROWS, min(_ROWS, _NUMBERS // len(fields.names), _WORK // fields.work, _TIMES * (asked or _ROWS)))
    truths = fields.truths(rows, rng)
    tape = Tape()
    first = played(fields, truths, tape)
    if first is None:
        note = f"{_seen_by_draws(fields, draws, error_rate)} {_OUTSIDE}".strip()
        return AuditQuestion.of("leaks", _ASKS, [], error_rate, note)
    again = played(fields, truths, tape)
    found = [_same("two replays of the same random bytes", first, again, truths, fields)]
    found += _equal_treatment(fields, min(rows, _CONSTANT_ROWS), rng)
    compared = _against_the_declared(fields, first, truths, tape)
    if compared is not None:
        found.append(compared)
        if 0 < compared.tests <= rows // _HARDLY and rows == _ROWS:  # hardly a difference: look at more people
            truths, tape = fields.truths(_MORE * rows, rng), Tape()
            compared = _against_the_declared(fields, played(fields, truths, tape), truths, tape)
            found.append(compared or Finding("", 1.0))
        else:
            found.append(Finding("", 1.0, 0))
    return AuditQuestion.of("leaks", _ASKS, found, error_rate, _seen_by_draws(fields, draws, error_rate))


_OUTSIDE = (
    "The random bytes could not be replayed: this channel does not draw them from askance's entropy, or draws "
    "them in another thread."
)


def played(fields: AuditedFields, truths: Truths, tape: Tape) -> Any:
    """Draw reports from a tape; None if it was not read."""
    with Replay(tape):
        reports = fields.reports(truths)
        return reports if tape.was_read else None


def _same(what: str, one: Any, other: Any, truths: Truths, fields: AuditedFields) -> Finding:
    differ = np.any(fields.values(one, truths) != fields.values(other, truths), axis=1)
    count = int(differ.sum())
    if not count:
        return Finding(what, 1.0)
    return Finding(f"{count} of {len(differ)} reports differ between {what}: something else decides them", 0.0)


def _equal_treatment(fields: AuditedFields, rows: int, rng: np.random.Generator) -> list[Finding]:
    """With one byte again and again, equal truths have equal reports."""
    if fields.channel.hides != "labels":
        return []  # where bits of a byte are used one by one, rows differ by their places in it
    truths = fields.truths(rows, rng)
    for byte in _BYTES:
        try:
            reports = played(fields, truths, Tape(byte, _CONSTANT_BLOCKS))
        except TapeEnded:
            continue
        if reports is None:
            return []
        values = fields.values(reports, truths)[:, 0]
        usual = np.array([_mode(values[truths[:, 0] == t]) for t in range(fields.counts[0])])
        special = int((values != usual[truths[:, 0]]).sum())
        if special:
            what = f"{special} of {len(values)} people are treated in a special way: same answer, same random bytes, "
            return [Finding(f"{what}another report", 0.0)]
    return [Finding("people who are treated in a special way", 1.0, len(_BYTES))]


def _mode(values: Floats) -> float:
    seen, counts = np.unique(values, return_counts=True)
    return float(seen[counts.argmax()]) if len(seen) else math.nan


def _against_the_declared(fields: AuditedFields, first: Any, truths: Truths, tape: Tape) -> Finding | None:
    """Compare with the channel that the spec describes, on the same bytes; ``tests`` is how many reports differ."""
    twin = _declared_twin(fields.channel)
    if twin is None:
        return None
    tape.rewind()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)  # what is clipped was said before
        reports = twin.decode_reports(twin.draw(twin.prepare(*fields.asked(truths)).values, tape))
    mine, theirs = fields.distance(first, truths), fields.distance(reports, truths)
    nearer, farther = int((mine < theirs).sum()), int((mine > theirs).sum())
    both = nearer + farther
    p_value = binomial_p_values(np.array([nearer]), np.array([both]), np.array([0.5]))[0] if both else 1.0
    what = (
        f"{both} of {mine.size} reports differ from what the declared channel draws from the same random bytes: "
        f"{nearer} are nearer to the truth, {farther} farther from it"
    )
    return Finding(what, float(p_value), both)


def _declared_twin(channel: Any) -> Any:
    """Return the channel that the spec of a channel describes; None if it describes none."""
    try:
        return channel_from_spec(channel.to_spec())
    except (AskanceError, TypeError, ValueError, AttributeError, KeyError):
        return None


def _seen_by_draws(fields: AuditedFields, draws: int, error_rate: float) -> str:
    """Say which share of people could be told without being noticed, if the random bytes themselves decide whom."""
    channel = fields.channel
    if not isinstance(channel, FiniteLaw) or not math.isfinite(channel.guarantee.epsilon):
        return ""
    share = leak_seen(channel.matrix, draws, error_rate * SHARES["law"])
    return f"Among {draws:,} draws, telling the truth about {100 * share:.2g}% of people would have been noticed."


def leak_seen(matrix: Floats, draws: int, level: float) -> float:
    """Return the share of people who are told as they are that the cells of a table show.

    A leak of a share s moves the probability p of the report that points most to a truth by s (1 - p).

    Examples
    --------
    >>> import askance as ask
    >>> round(leak_seen(ask.Warner(0.75).matrix, 1_000_000, 3e-4), 3)
    0.015
    """
    from scipy.special import ndtri

    each = draws / matrix.shape[1]
    truthful = matrix[
        np.argmax(matrix / matrix.sum(axis=1, keepdims=True).clip(min=1e-300), axis=0), range(matrix.shape[1])
    ]
    away = float(-ndtri(level / matrix.size / 2) + ndtri(_POWER))
    shares = away * np.sqrt(truthful / np.maximum(1 - truthful, 1e-300) / each)
    return float(min(1.0, shares.max()))
