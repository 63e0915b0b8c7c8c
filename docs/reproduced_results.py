"""Write ``reproduced.md`` from what a whole run of ``askance reproduce all`` has found.

``python docs/reproduced_results.py FOLDER`` reads the findings in a folder that the command has written into, keeps
them in ``reproduced.csv``, and writes the page. Without a folder the page is written from what is kept; a test compares
it with what this script would write.
"""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from askance.papers.findings import Statement
from askance.papers.novelties import novelties_table
from askance.papers.registry import entries

PAGE = Path(__file__).with_name("reproduced.md")
KEPT = Path(__file__).with_name("reproduced.csv")
COLUMNS = ("entry", "size", "quantity", "published", "formula", "simulation", "standard_error", "statement", "passes")

_QUICK = " *(quick)*"
_INTRODUCTION = """\
# What the reproductions found

<!-- Written by docs/reproduced_results.py from docs/reproduced.csv: run `askance reproduce all`, then it, again. -->

Every finding of `askance reproduce all`, seed 0, with the real data that [Reproduce the papers](reproduce.md) names.
Entries marked *quick* were last run with `--quick`, on fewer rows or draws; all others at full size. *The paper*:
whether what it states holds; "not stated" is a number that no paper prints. *Our check*: whether our own formula,
simulation or search gives what it must.
"""


def read_run(folder: Path) -> list[dict[str, str]]:
    """Collect the findings of a run, in the order of the registry."""
    rows = []
    for name in entries():
        account = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        size = "quick" if account["quick"] else "full"
        for finding in account["findings"]:
            cells = {key: finding[key] for key in COLUMNS[2:]}
            rows.append({"entry": name, "size": size} | {key: _cell(value) for key, value in cells.items()})
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def page_of(rows: list[dict[str, str]]) -> str:
    """Return the page."""
    counts = Counter(row["statement"] for row in rows)
    passed = sum(row["passes"] == "True" for row in rows)
    said = ", ".join(f"{counts[kind]} {kind}" for kind in map(str, Statement))
    numbers = {
        (row["entry"], row["quantity"]): (row["formula"] or row["simulation"]) + _QUICK * (row["size"] == "quick")
        for row in rows
    }
    parts = [
        _INTRODUCTION.rstrip(),
        f"{len(rows)} findings: published statements {said}; {passed} of {len(rows)} checks of ours pass.",
        f"## What is new beyond the papers\n\n{novelties_table(numbers)}",
    ]
    for name, entry in entries().items():
        mine = [row for row in rows if row["entry"] == name]
        table = ["| quantity | published | our formula | simulated | the paper | our check |", "|---|" + 5 * "---|"]
        table += [f"| {' | '.join(map(_escaped, _line(row)))} |" for row in mine]
        quick = _QUICK if mine and mine[0]["size"] == "quick" else ""
        parts.append(f"## {name}\n\n{entry.title}.{quick}\n\n" + "\n".join(table))
    return "\n\n".join(parts) + "\n"


def _line(row: dict[str, str]) -> tuple[str, ...]:
    error = f" ± {float(row['standard_error']):.1g}" if row["standard_error"] else ""
    verdict = "passes" if row["passes"] == "True" else "**fails**"
    simulated = row["simulation"] + error
    return row["quantity"], row["published"], row["formula"], simulated, row["statement"], verdict


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*") if "**" not in text else text


def kept() -> list[dict[str, str]]:
    """Read what the last whole run has found."""
    with KEPT.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        found = read_run(Path(sys.argv[1]))
        with KEPT.open("w", encoding="utf-8", newline="") as target:
            writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    PAGE.write_text(page_of(kept()), encoding="utf-8")
