"""Every figure that can be reproduced, with the claim that was published.

A reproduction is a function with the decorator :func:`reproduces`. Its module is named in ``_MODULES`` and imported
when the registry is first asked for. Running it computes and draws; :func:`run_entry` writes what it hands back.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance.errors import InvalidInput
from askance.solvers.progress import Listener, telling

if TYPE_CHECKING:
    import numpy as np

    from askance.papers.findings import Outcome, Result

Run = Callable[["np.random.Generator", bool], "Result"]

PAPERS = {
    "class-ratio": "Iyer, Nath & Sarawagi, Privacy-preserving Class Ratio Estimation (2016) [CR]",
    "linear-moments": "Raghunathan, Frostig, Duchi & Liang, Estimation from Indirect Supervision with Linear "
    "Moments (2016, extended edition) [LM]",
    "mean-operator": "Patrini, Nielsen & Nock, Bridging Weak Supervision and Privacy Aware Learning via Sufficient "
    "Statistics (2015) [MO]",
    "randomised-response": "Barber, Private Machine Learning via Randomised Response (2020) [RR]",
    "surveys": "Published surveys: Blair, Imai & Zhou (2015); Radukic & Musch (2014); Jann, Jerke & Krumpal (2012)",
}

# Modules with reproductions, by paper. These import the other modules of the paper's folder when they need them.
_MODULES = {
    "class_ratio": ("figure_1", "figure_2", "figure_3"),
    "linear_moments": ("appendix_a4", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7", "proposition_1"),
    "mean_operator": ("accuracy", "factorisation", "theorem_6", "theorems"),
    "randomised_response": (
        "appendix_b",
        "equation_3",
        "figure_1",
        "figure_2",
        "figure_3",
        "figure_4",
        "section_6_1",
        "voting",
    ),
    "surveys": ("published",),
}

_entries: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    """A published figure, table or example that can be made again.

    Parameters
    ----------
    name : str
        Paper and item, such as ``"linear-moments/figure-3"``.
    title : str
        What is shown.
    claim : str
        What the paper says, with its number where it prints one.
    reference : str
        Where it says so.
    run : callable
        ``run(rng, quick) -> Result``; simulates less if ``quick``.
    """

    name: str
    title: str
    claim: str
    reference: str
    run: Run

    @property
    def paper(self) -> str:
        """Authors, title and year."""
        return PAPERS[self.name.partition("/")[0]]

    def to_json(self) -> dict[str, Any]:
        """A JSON-able description."""
        described = ("name", "paper", "title", "claim", "reference")
        return {key: getattr(self, key) for key in described}


def reproduces(name: str, *, title: str, claim: str, reference: str) -> Callable[[Run], Run]:
    """Register the decorated function as the reproduction called ``name``."""
    paper, _, item = name.partition("/")
    if paper not in PAPERS or not item:
        raise InvalidInput(f"a reproduction called {name!r}", f"'paper/item', with a paper among {list(PAPERS)}")

    def register(run: Run) -> Run:
        _entries[name] = Entry(name, title, claim, reference, run)
        return run

    return register


def entries() -> dict[str, Entry]:
    """Return all reproductions by name.

    Examples
    --------
    >>> list(entries())[0]
    'class-ratio/figure-1'
    """
    for paper, modules in _MODULES.items():
        for module in modules:
            import_module(f"askance.papers.{paper}.{module}")
    return dict(sorted(_entries.items()))


def select(names: Iterable[str]) -> list[Entry]:
    """Return the entries meant by names, papers (``"linear-moments"``) or ``"all"``, each once.

    Raises
    ------
    InvalidInput
        On an unknown name, with the names that come close.
    """
    known = entries()
    chosen: dict[str, Entry] = {}
    for name in names:
        meant = [
            entry for full, entry in known.items() if name in ("all", full) or full.startswith(name.rstrip("/") + "/")
        ]
        if not meant:
            close = difflib.get_close_matches(name, [*known, *PAPERS], n=3, cutoff=0.4)
            raise InvalidInput(
                f"no reproduction is called {name!r}",
                f"'all', a paper ({', '.join(PAPERS)}) or one of {', '.join(known)}",
                f"Did you mean {' or '.join(close)}?" if close else "",
            )
        chosen.update((entry.name, entry) for entry in meant)
    return list(chosen.values())


def run_entry(
    entry: Entry, output: Path, seed: int, quick: bool = False, progress: Listener = lambda done, total: None
) -> "Outcome":
    """Run one reproduction into ``output``/paper, and write its findings beside its plots.

    The generator depends on the seed and on the entry's name, so that a figure is the same whichever others
    are made with it. ``progress`` is told how much is done, and of how much.
    """
    import numpy as np

    from askance.papers.artefacts import save_account, save_result

    if seed < 0:
        raise InvalidInput(f"seed={seed}", "0 or a positive integer")

    paper, _, item = entry.name.partition("/")
    folder = Path(output) / paper
    rng = np.random.default_rng([seed, *entry.name.encode()])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with telling(progress):
            result = entry.run(rng, quick)
        outcome = save_result(result, folder, item)
        account = entry.to_json() | {"seed": seed, "quick": quick} | outcome.to_json()
        save_account(account, folder / f"{item}.json")
    except OSError as error:
        raise InvalidInput(
            f"the output folder {folder} cannot be written to ({error.strerror or error})",
            "a folder, or a place where one can be made",
        ) from error
    return outcome
