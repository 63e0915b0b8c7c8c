"""Task files that the documentation shows can be served as they are."""

import re
from pathlib import Path

from askance import Ledger
from askance.collector.annotation_task import AnnotationTask
from askance.collector.label_holder import LabelHolder

DOCS = Path(__file__).parents[2] / "docs"


def shown(page, table):
    return re.search(rf"```toml\n(\[{table}\].*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)[1]


def test_the_task_for_annotators_reads(tmp_path):
    (tmp_path / "task.toml").write_text(shown("collector.md", "annotation"), encoding="utf-8")
    (tmp_path / "text.txt").write_text("the dog barks at the cat and runs\n" * 20, encoding="utf-8")
    task = AnnotationTask.read(tmp_path / "task.toml")
    drawn = task.drawn()
    assert (len(drawn), {one.width for one in drawn}) == (20, {6})
    assert sorted(one.wanted for one in drawn) == [1] * 18 + [2] * 2


def test_the_labels_read(tmp_path):
    (tmp_path / "labels.toml").write_text(shown("two-organisations.md", "labels"), encoding="utf-8")
    (tmp_path / "ill.csv").write_text("person,ill\nb,yes\na,no\n", encoding="utf-8")
    Ledger.create(tmp_path / "ill.ledger", 1, data_set="diagnoses")
    holder = LabelHolder.read(tmp_path / "labels.toml", print)
    assert holder.people.texts.to_pylist() == ["a", "b"]
    assert holder.codes.tolist() == [0, 1]
    assert float(holder.largest) == 0.5
