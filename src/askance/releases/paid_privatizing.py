"""Privatising under a budget: who is asked pays, before a report is drawn."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from askance.errors import InvalidInput, ReleaseError
from askance.files.location import StrPath
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.response_loss import channel_loss
from askance.mechanisms.budget import rounded_up
from askance.mechanisms.ledger import Ledger
from askance.mechanisms.person_keys import id_texts
from askance.releases.declarations import Question
from askance.releases.privatizing import Privatizer, check_data
from askance.releases.sequence_lengths import longest_lists
from askance.releases.study import Study
from askance.releases.writer import refuse_existing
from askance.tables.columns import Fault, refuse
from askance.tables.data_files import Data, open_data


def pay_for_answers(
    study: Study,
    data: StrPath,
    ledger: Ledger,
    id_column: str,
    out: StrPath,
    *,
    overwrite: bool = False,
    public_columns: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Spend from a ledger what it costs people to answer a study once, and return the number of the entry.

    All answers are read and checked first, and nothing is drawn. What is refused spends nothing. Everything that is
    drawn afterwards has been paid for, whatever happens to the process.

    Parameters
    ----------
    study : Study
    data : path
        The true answers.
    ledger : Ledger
    id_column : str
        A column of identifiers: one row for each person. It does not go into the release.
    out : path
        Where the release will go: looked at before anything is spent.
    overwrite : bool
    public_columns : sequence of str
        As for :func:`privatize_file`.
    progress : callable, optional
        Called with bytes read and bytes in all.

    Raises
    ------
    InvalidInput
        If an answer is none, a person is there twice, or the study has no privacy guarantee.
    BudgetSpent
        If too little is left for one of these people.
    """
    if not math.isfinite(study.guarantee.epsilon):
        raise InvalidInput(
            "a ledger for a study without a privacy guarantee",
            "channels of finite levels",
            "Reports that tell the truth cost more than any budget. Nothing was spent.",
        )
    hidden = [question.name for question in study.questions if id_column in question.sources]
    if hidden:
        raise InvalidInput(f"the identifier {id_column!r}, which is the answer to {hidden[0]!r}", "another column")
    opened, target = open_data(data), Path(out)
    check_data(opened, study.header(), target)
    refuse_existing(target, overwrite)
    if not os.access(target.absolute().parent, os.W_OK):
        raise ReleaseError(f"cannot write {target}: no folder, or no permission for it", remedy="Nothing was spent.")
    people, longest = _checked_people(Privatizer(study.header(), tuple(public_columns)), opened, id_column, progress)
    guarantee = study.header().guarantee_of(longest)  # nobody pays for fewer tokens than the longest sequence has
    losses = [_loss(question, longest.get(question.name, 0)) for question in study.questions]
    named = study.name or study.title or "a study"
    what = f"reports of {len(people):,} people on {len(losses)} question{'s' * (len(losses) != 1)} ({named})"
    level = rounded_up(guarantee.epsilon), rounded_up(guarantee.delta)
    return ledger.spend(*level, what=what, people=people, losses=losses)


def _loss(question: Question, tokens: int) -> PrivacyLoss:
    if not question.hides_sequences:
        return channel_loss(question.channel)
    whole = question.guarantee_of(tokens)
    return LevelLoss.of(whole.epsilon, whole.delta)


def _checked_people(
    privatizer: Privatizer, data: Data, id_column: str, progress: Callable[[int, int], None] | None
) -> tuple[pa.ChunkedArray, dict[str, int]]:
    """Look at every answer as if it were to be hidden; return the identifiers, and how long sequences are at most."""
    sequences = [question.name for question in privatizer.header.questions if question.hides_sequences]
    longest = dict.fromkeys(sequences, 0)
    wanted = list(dict.fromkeys([*privatizer.header.source_columns, id_column]))
    data.check_columns(wanted)
    faults: dict[str, Fault] = {}
    ids: list[pa.Array] = []
    told = privatizer.told()
    total, before = sum(file.size for file in data.files), 0
    for file in data.files:
        where = f" of {file.path.name}" if len(data.files) > 1 else ""
        for chunk in file.chunks(wanted):
            for fault in privatizer.faults(chunk.table, told):
                faults.setdefault(fault.column, replace(fault, row=fault.row + chunk.first_row, where=where))
            here = {} if faults else longest_lists([chunk.table], sequences)
            longest |= {name: max(longest[name], tokens) for name, tokens in here.items()}
            try:
                ids.append(id_texts(chunk.table.column(id_column)))
            except InvalidInput as error:
                first = chunk.first_row + 1
                raise InvalidInput(
                    f"{file.path}, column {id_column!r}, rows from {first:,} on: {error}", "one person a row"
                ) from None
            if progress:
                progress(before + chunk.bytes_read, total)
        before += file.size
    refuse(list(faults.values()), str(data.path))
    told.refuse()
    if not sum(map(len, ids)):
        raise InvalidInput(f"{data.path} has no rows", "at least one")
    return pa.chunked_array(ids), longest
