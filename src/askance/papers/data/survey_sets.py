"""Answers of published surveys, and made-up answers of the same design where they are not to be had.

``ASKANCE_DATA`` names a folder with ``surveys/nigeria.csv.gz``, ``surveys/minarets.csv.gz`` and
``surveys/Plagiarism.csv.gz``, as the R packages rr, RRreg and GLMMRR have them. None is shipped with this package.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.labels.finite import Identity
from askance.channels.labels.surveys import Crosswise, ForcedResponse, StochasticLieDetector
from askance.papers.data.data_folder import Sourced, data_file

ANSWERS = ("no", "yes")
# The designs of the published surveys, by their published probabilities.
DIE = ForcedResponse(1 / 6, 1 / 6)
LIES = {"2/12": StochasticLieDetector(2 / 12), "10/12": StochasticLieDetector(10 / 12)}
BIRTHDAY = {"direct": Identity(ANSWERS), "crosswise": Crosswise(0.25)}

Texts = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Answers(Sourced):
    """Reports, the design that each was given under, and what else is known of the respondents.

    Parameters
    ----------
    reports, design : arrays of texts
    covariates : dict
        Columns of numbers.
    """

    reports: Texts
    design: Texts
    covariates: dict[str, Floats]

    def where(self, chosen: NDArray[np.bool_]) -> "Answers":
        """Return the answers of some rows."""
        kept = {name: column[chosen] for name, column in self.covariates.items()}
        return Answers(self.name, self.source, self.reports[chosen], self.design[chosen], kept, stand_in=self.stand_in)


def nigeria() -> Answers:
    """Contact with armed groups in the Niger Delta: forced response by a die; complete rows."""
    path = data_file("surveys/nigeria.csv.gz")
    names = ("asset", "married", "age", "education", "female", "civic")
    if path is None:
        return _made_up("nigeria", names, 2457, 0.26)
    table = _table(path).dropna()
    columns = ("cov.asset.index", "cov.married", "cov.age", "cov.education", "cov.female", "civic")
    covariates = {name: table[column].to_numpy(dtype=float) for name, column in zip(names, columns, strict=True)}
    design = np.full(len(table), "die", dtype=object)
    return Answers("nigeria", "Blair (2014), as in the R package rr", _said(table["rr.q1"]), design, covariates)


def minarets() -> Answers:
    """Approval of a ban on minarets: a stochastic lie detector, and a group that was asked directly."""
    path = data_file("surveys/minarets.csv.gz")
    if path is None:
        rng = np.random.default_rng(12)
        design = rng.choice(["direct", "2/12", "10/12"], 1621).astype(object)
        yes = {"direct": 0.43, "2/12": 0.6 * 0.8 + 0.4 * 10 / 12, "10/12": 0.6 * 0.8 + 0.4 * 2 / 12}
        chance = np.array([yes[one] for one in design])
        numbers = {"left_right": rng.normal(size=1621), "age": rng.normal(25, 7, 1621)}
        return Answers("minarets", "made up", _said(rng.random(1621) < chance), design, numbers, stand_in=True)
    table = _table(path)
    design = np.array(["direct", "2/12", "10/12"], dtype=object)[table["condition"].to_numpy(dtype=int)]
    numbers = {"left_right": table["leftRight.c"].to_numpy(dtype=float), "age": table["age.c"].to_numpy(dtype=float)}
    source = "Radukic & Musch (2014), as in the R package RRreg"
    return Answers("minarets", source, _said(table["rrt"]), design, numbers)


def plagiarism() -> Answers:
    """Plagiarism by students: crosswise by a birthday, and directly; two questions, partial (1) and severe (0)."""
    path = data_file("surveys/Plagiarism.csv.gz")
    if path is None:
        rng = np.random.default_rng(13)
        design = np.where(rng.random(812) < 310 / 406, "crosswise", "direct").astype(object)
        partial = rng.random(812) < 0.5
        truth = rng.random(812) < np.where(partial, 0.22, 0.02)
        said = np.where(design == "direct", truth, truth == (rng.random(812) < 0.25))
        numbers = {"partial": partial.astype(float)}
        return Answers("plagiarism", "made up", _said(said), design, numbers, stand_in=True)
    table = _table(path)
    design = np.where(table["RRmodel"] == "DQ", "direct", "crosswise").astype(object)
    kind = {"partial": table["pp"].to_numpy(dtype=float)}
    source = "Jann & Brandenberger (2012), as in the R package GLMMRR"
    return Answers("plagiarism", source, _said(table["response"]), design, kind)


def _table(path: Path) -> Any:
    import pandas as pd

    return pd.read_csv(path)


def _said(yes: Any) -> Texts:
    return np.where(np.asarray(yes, dtype=float) > 0, "yes", "no").astype(object)


def _made_up(name: str, columns: tuple[str, ...], rows: int, prevalence: float) -> Answers:
    rng = np.random.default_rng(11)
    truth = np.where(rng.random(rows) < prevalence, "yes", "no")
    numbers = {column: (rng.random(rows) < 0.5).astype(float) for column in columns}
    numbers["age"] = rng.uniform(18, 70, rows)
    design = np.full(rows, "die", dtype=object)
    return Answers(name, "made up", DIE.simulate(truth, rng).astype(object), design, numbers, stand_in=True)
