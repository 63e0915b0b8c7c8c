"""Write ``reproduced.md`` and ``beyond-the-papers.md`` from what ``askance reproduce`` has found.

``python docs/reproduced_results.py FOLDER`` reads the findings in a folder that the command has written into, keeps
them in ``reproduced.csv`` in place of older ones, and writes the pages. Without a folder the pages are written from
what is kept; a test compares them with what this script would write. ``reproduced_figures.py`` keeps the figures.
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
BEYOND = Path(__file__).with_name("beyond-the-papers.md")
FIGURES = Path(__file__).with_name("images") / "reproductions"
KEPT = Path(__file__).with_name("reproduced.csv")
COLUMNS = ("entry", "size", "quantity", "published", "formula", "simulation", "standard_error", "statement", "passes")

_QUICK = " *(quick)*"
_INTRODUCTION = """\
# What the reproductions found

<!-- Written by docs/reproduced_results.py from docs/reproduced.csv: run `askance reproduce all`, then it, again. -->

Every finding of `askance reproduce all`, seed 0, with the real data that [Reproduce the papers](reproduce.md) names.
Entries marked *quick* were last run with `--quick`, on fewer rows or draws; all others at full size. *The paper*:
whether what it states holds; "not stated" is a number that no paper prints. *Our check*: whether our own formula,
simulation or search gives what it must. Figures are of a run with `--quick`. What askance has that no paper has is
[on a page of its own](beyond-the-papers.md).
"""
_BEYOND = """\
# What is new beyond the papers

<!-- Written by docs/reproduced_results.py from docs/reproduced.csv: run `askance reproduce all`, then it, again. -->

askance began as four papers: [LM] linear moments, [MO] mean operators, [CR] class ratios, [RR] randomised response.
[Every figure of theirs](reproduced.md) was made again. This page is about what was not in them, with the number that it
is worth, each measured by a reproduction that anybody can run: `askance reproduce NAME`. Numbers marked *quick* are of
fewer rows or draws.
"""
_ELSEWHERE = """\
## With a number measured elsewhere

| beyond the papers | number | where |
|---|---|---|
| A Dirichlet law with a guarantee: distortion in the setting of `class-ratio/figure-1`, 400 releases, where noise of sum zero has .028 and the paper's, without a guarantee, .31 | .042 | [Class ratios](class-ratios.md), [proof](mechanisms/counts-dirichlet.md) |
| Intervals of class ratios by classifiers of bags: coverage at .95, least of four data sets, 100 repeats each | .958 | [Class ratios](class-ratios.md), [decision](decisions/0009-class-ratios.md) |
| Hidden features that depend on each other (ten bits, correlation .5, flips of .2): estimated length of the coefficients, the truth being 1, where taking them for independent gives .78 | 1.02 | `make bench ARGS=dependent`, [Features and labels both hidden](both-hidden.md) |
| The same: coverage at .95, 24 sets | .958 | `make bench ARGS=dependent` |
| Chains learned from counts in windows of eight words, by the exact posterior of all taggings that have them: accuracy on English, where words on their own have .893 | .938 | [Counting](counting.md) |

## Without a number of one run

| beyond the papers | where |
|---|---|
| Whole rows of numbers hidden in windows of codes, at any level | [Private rows](private-rows.md), [proof](mechanisms/window-release.md) |
| Class ratios of new groups: a warning where a group is unlike all bags | [Class ratios](class-ratios.md) |
| Metrics, score intervals and calibration of the hidden truth | [How well does it do on the truth?](metrics.md) |
| Cheaters, liars and random answers estimated with the prevalence | [Designs with something unknown](unknown-designs.md) |
| Strata, clusters and replicate weights through the channel | [From paper forms to a report](survey-researchers.md) |
"""  # noqa: E501
# Statements that would harm somebody who trusted them: a level, a bound, a sign of soundness.
_COUNTEREXAMPLES = (
    ("class-ratio/figure-1", "divergence for a neighbour, less 4 errors", "CR", "the published mechanism is private"),
    ("linear-moments/figure-6", "exact level, triple, alpha=4", "LM", "a triple of values is hidden at level 4"),
    ("mean-operator/theorem-9", "level at alpha=1, 2-norm at most 1, d=64", "MO", "noise for 64 features has level 1"),
    ("mean-operator/theorem-10", "the printed bound fails with probability, d=31", "MO", "the bound holds but for 5%"),
    (
        "mean-operator/theorem-6",
        "8 times logistic: moved, of the printed bound",
        "MO",
        "an estimate moves less than the bound",
    ),
    ("randomised-response/appendix-b", "length, flips of 0.3", "RR", "flipped labels leave the estimate consistent"),
)


def read_run(folder: Path) -> list[dict[str, str]]:
    """Collect the findings of a run, in the order of the registry; of what it did not run, what is kept."""
    rows = []
    for name in entries():
        found = folder / f"{name}.json"
        if not found.exists():
            rows += [row for row in kept() if row["entry"] == name]
            continue
        account = json.loads(found.read_text(encoding="utf-8"))
        size = "quick" if account["quick"] else "full"
        for finding in account["findings"]:
            cells = {key: finding[key] for key in COLUMNS[2:]}
            rows.append({"entry": name, "size": size} | {key: _cell(value) for key, value in cells.items()})
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def beyond_of(rows: list[dict[str, str]]) -> str:
    """Return the page about what no paper has."""
    numbers = {
        (row["entry"], row["quantity"]): (row["formula"] or row["simulation"]) + _QUICK * (row["size"] == "quick")
        for row in rows
    }
    published = {(row["entry"], row["quantity"]): row["published"] for row in rows}
    table = ["| what was stated | as printed | counterexample | measured by |", "|---|---|---|---|"] + [
        f"| [{paper}] {stated} | {published[entry, quantity]} | {numbers[entry, quantity]} | `{entry}` |"
        for entry, quantity, paper, stated in _COUNTEREXAMPLES
    ]
    wrong = sum(row["statement"] == str(Statement.CONTRADICTED) for row in rows)
    return (
        "\n\n".join(
            [
                _BEYOND.rstrip(),
                f"## With a number\n\n{novelties_table(numbers)}",
                _ELSEWHERE.rstrip(),
                f"## Counterexamples\n\nOf what the papers state, {wrong} findings do not hold. These matter most "
                "to who relies on a guarantee.",
                "\n".join(table),
            ]
        )
        + "\n"
    )


def figures_of(name: str) -> str:
    """Return the kept figures of a reproduction as Markdown."""
    kept_figures = sorted(FIGURES.glob(f"{name.replace('/', '-')}*.png"))
    return "".join(f"![{entries()[name].title}](images/reproductions/{path.name})\n\n" for path in kept_figures)


def page_of(rows: list[dict[str, str]]) -> str:
    """Return the page of findings."""
    counts = Counter(row["statement"] for row in rows)
    passed = sum(row["passes"] == "True" for row in rows)
    said = ", ".join(f"{counts[kind]} {kind}" for kind in map(str, Statement))
    parts = [
        _INTRODUCTION.rstrip(),
        f"{len(rows)} findings: published statements {said}; {passed} of {len(rows)} checks of ours pass.",
    ]
    for name, entry in entries().items():
        mine = [row for row in rows if row["entry"] == name]
        table = ["| quantity | published | our formula | simulated | the paper | our check |", "|---|" + 5 * "---|"]
        table += [f"| {' | '.join(map(_escaped, _line(row)))} |" for row in mine]
        quick = _QUICK if mine and mine[0]["size"] == "quick" else ""
        parts.append(f"## {name}\n\n{entry.title}.{quick}\n\n{figures_of(name)}" + "\n".join(table))
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
    BEYOND.write_text(beyond_of(kept()), encoding="utf-8")
