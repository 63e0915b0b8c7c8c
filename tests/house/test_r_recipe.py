"""The R code of ``docs/from-r.md`` is true on the Python side: every call is made as reticulate makes it.

R is not needed. Its few pieces of syntax on that page are read as Python, and its values become what reticulate
documents: a vector of texts or numbers is a list, one element a scalar, a data frame a pandas frame, a named list a
dict.
"""

import re

import numpy as np
import pandas as pd
import pytest
from test_docs import DOCS, blocks_of

import askance
from askance.errors import InvalidInput

# What R itself does: there is no Python side to it.
R_ALONE = (
    "install.packages(",
    "library(",
    "virtualenv_create(",
    "use_virtualenv(",
    "ask <- import(",
    "X <- model.matrix(",
)
PEOPLE = 1000


def lines_of_r():
    for block in blocks_of(DOCS / "from-r.md"):
        if block.language == "r":
            yield from (line for line in block.text.splitlines() if line.strip())


def as_python(line):
    line = re.sub(r"\b(as|data)\.", r"\1_", line).replace("<-", "=").replace("TRUE", "True")
    return re.sub(r"\blist\(", "dict(", re.sub(r"(?<=[\w)])\$", ".", re.sub(r"\b(\d+)L\b", r"\1", line)))


def concatenated(*parts):
    joined = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    return joined if len(joined) > 1 else joined[0]


def in_r():
    """What the page takes for granted, as Python sees it: covariates, the design of each person, a release."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40, 10, PEOPLE), "citysouth": rng.integers(0, 2, PEOPLE).astype(float)})
    used = np.where(np.arange(PEOPLE) % 2, "paper", "phone").tolist()
    functions = {
        "print": repr,  # of what is no value of R
        "c": concatenated,
        "rep": lambda value, times: [value] * times,
        "factor": pd.Categorical,
        "data_frame": lambda **columns: pd.DataFrame(columns),
        "as_data_frame": lambda frame: frame,
    }
    return functions | {"ask": askance, "X": X, "used": used}


def write_release():
    from askance.releases import Covariate, Header, Question

    rng = np.random.default_rng(1)
    channel = askance.Warner(0.8)
    header = Header(
        (Question("cheated", channel),), (Covariate("age"), Covariate("school", "category", ("north", "south")))
    )
    table = {
        "cheated": channel.simulate(np.where(rng.random(PEOPLE) < 0.3, "yes", "no"), rng),
        "age": rng.normal(20, 2, PEOPLE),
        "school": rng.choice(["north", "south"], PEOPLE),
    }
    askance.Release.from_table(table, header).write("release.parquet")


def test_every_call_of_the_page_works_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_release()
    values, results = in_r(), []
    for line in lines_of_r():
        if not line.startswith(R_ALONE):
            code = as_python(line)
            if "designs" in code and "fit(" in code:  # reports that both designs can have given
                values["reports"] = askance.Warner(0.8).simulate(
                    ["yes", "no", "no", "no"] * (PEOPLE // 4), np.random.default_rng(2)
                )
                values["reports"] = values["reports"].tolist()
            results.append(eval(code, values) if " = " not in code.split("(")[0] else exec(code, values))
    frames = [result for result in results if isinstance(result, pd.DataFrame)]
    assert [frame.index[0] for frame in frames[:3]] == ["no", "Intercept", "age"]
    assert values["model"].parameter_names_ == ("Intercept", "age", "school[T.south]")
    assert (tmp_path / "report.html").exists()


def test_what_to_know_is_so():
    assert concatenated("yes") == "yes"  # as reticulate has it; askance takes it for no list of answers
    with pytest.raises(InvalidInput):
        askance.Prevalence(askance.Warner(0.8)).fit(concatenated("yes"))
    missing = pd.DataFrame({"age": [20.0, np.nan, 30.0, 40.0]})
    with pytest.raises(ValueError, match="NaN"):
        askance.IndirectClassifier(askance.Warner(0.8)).fit(missing, ["yes", "no", "no", "yes"])


def test_what_r_prints_is_the_table():
    channel = askance.Warner(0.8)
    shown = askance.Prevalence(channel).fit(["yes"] * 40 + ["no"] * 60).summary()
    for table in (shown, askance.plan(channel, prevalence=0.1, margin=0.03)):
        assert repr(table) == str(table)  # R's print asks for the one, Python's for the other
