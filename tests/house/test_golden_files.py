"""Whatever askance has written, every later version reads: models, releases, ledgers and study files of version 0.1.0.

The files are in ``tests/golden``, and ``told-v1.json`` beside them holds what each of them said when it was written.
``python tests/house/test_golden_files.py`` writes files that are missing, and what they say; a file that is there is
never written again, nor is what it says. Where a test fails, the reading is wrong and not the file. Only public names
are used for reading, except where there is none, so that it does not matter where modules live.
"""

import copy
import dataclasses
import hashlib
import json
import math
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import askance as ask

GOLDEN = Path(__file__).parents[1] / "golden"
TOLD = GOLDEN / "told-v1.json"

# New people for every model: these numbers are bits, states and measurements alike.
NEW = np.array([[0, 1, 0, 1, 1], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 0], [0, 1, 1, 0, 0]])

DESIGNS = {"cards": ask.Warner(0.8), "dice": ask.ForcedResponse(0.15, 0.2), "direct": ask.Identity(["no", "yes"])}
PEOPLE = [f"person {i}" for i in range(60)]


# -- comparing ---------------------------------------------------------------------------------------------------------


def plain(value):
    """Values as strict JSON holds them; channels by their specs, and generators by what they draw next."""
    if dataclasses.is_dataclass(value) and not hasattr(value, "to_spec"):
        return plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_spec"):
        return {"channel spec": value.to_spec()}
    if isinstance(value, np.random.Generator):
        return {"draws": copy.deepcopy(value).integers(1 << 40, size=3).tolist()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def assert_same(now, then, close, place=""):
    """All that was told then is told now; more may be told."""
    if isinstance(then, dict):
        if "channel spec" in then:
            specs = [ask.channel_from_spec(each["channel spec"]) for each in (now, then)]
            assert specs[0] == specs[1], place
            return
        assert then.keys() <= now.keys(), place
        for name, item in then.items():
            assert_same(now[name], item, close, f"{place}/{name}")
    elif isinstance(then, list):
        assert len(now) == len(then), place
        for number, pair in enumerate(zip(now, then, strict=True)):
            assert_same(*pair, close, f"{place}/{number}")
    elif isinstance(then, float):
        assert now == pytest.approx(then, rel=close, abs=close / 1000), place
    else:
        assert now == then, place
        assert type(now) is type(then), place


def assert_written_again(name, release):
    """A release of one JSON file would be written with all that it was read with."""
    old = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    assert_same(json.loads(release.to_json()), old, 1e-9)


def told(name, part):
    return json.loads(TOLD.read_text(encoding="utf-8"))[name][part]


# -- saved models ------------------------------------------------------------------------------------------------------


def numbers(rows=400, seed=0):
    """Two columns and an outcome that is a line of them."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2.0, 2.0, (2, rows))
    return pd.DataFrame({"a": a, "b": b, "y": 1 + 0.5 * a - b + rng.uniform(-0.5, 0.5, rows)}), rng


ROW = ask.PrivateRow({"a": (-2, 2), "b": (-2, 2), "y": (-3, 5)}, 8.0, outcome="y")
NUMBER = ask.PrivateNumber(-3.0, 5.0, 2.0)


def regressor_row():
    frame, rng = numbers()
    return ask.IndirectRegressor(ROW, features=["b", "a"], ridge=0.01).fit(ROW.simulate(frame.to_numpy(), rng))


def regressor_number():
    frame, rng = numbers()
    return ask.IndirectRegressor(NUMBER).fit(frame[["a", "b"]], NUMBER.simulate(frame["y"].to_numpy(), rng))


def regressor_waves():
    frame, rng = numbers(800)
    hidden, rest = frame[:400], frame[400:]
    reports = [ROW.simulate(hidden.to_numpy(), rng), (rest[["a", "b"]], NUMBER.simulate(rest["y"].to_numpy(), rng))]
    return ask.IndirectRegressor([ROW, NUMBER], ridge=0.01).fit(reports)


def answers(rows=400, seed=0):
    """Three columns and a yes or no that depends on the first two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, np.where(X[:, 0] - X[:, 1] + rng.logistic(size=rows) > 0, "yes", "no"), rng


def classifier_designs():
    X, y, rng = answers()
    channel, design = ask.DesignPerRow(DESIGNS), rng.choice(list(DESIGNS), len(X))
    return ask.IndirectClassifier(channel).fit(X, channel.simulate(y, rng, design), design=design)


def classifier_formula():
    return ask.IndirectClassifier().fit_release(
        GOLDEN / "release-v1-parts", question="cheated", formula="cheated ~ age + C(school)"
    )


def prevalence_designs():
    _, y, rng = answers()
    channel, design = ask.DesignPerRow(DESIGNS), rng.choice(list(DESIGNS), len(y))
    return ask.Prevalence(channel, "moments").fit(channel.simulate(y, rng, design), design=design)


def mean_operator_two():
    X, y, _ = answers()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    return ask.MeanOperatorClassifier().fit(frame, ask.release_mean_operator(frame, y, 2.0, classes=("no", "yes")))


def mean_operator_three():
    X, y, rng = answers()
    y = np.where(rng.random(len(y)) < 0.3, "perhaps", y)
    release = ask.release_mean_operator(X, y, 4.0, "1e-6", "gaussian", classes=("no", "perhaps", "yes"))
    return ask.MeanOperatorClassifier("matsushita", ridge=0.1).fit(X, release)


def bags(classes=2, rows=400, seed=0):
    """Rows in ten bags, and the shares of their classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = (X @ (2 * np.eye(3)[:, :classes]) + rng.gumbel(size=(rows, classes))).argmax(axis=1)
    mix = rng.dirichlet(np.full(10, 0.7), size=classes)
    bag = np.array([rng.choice(10, p=mix[label]) for label in y])
    bag = np.unique(bag, return_inverse=True)[1]
    return (
        X,
        bag,
        np.array([np.bincount(y[bag == j], minlength=classes) / np.sum(bag == j) for j in range(max(bag) + 1)]),
    )


def proportions(method, number, **parameters):
    return ask.ProportionClassifier(method, **parameters).fit(*bags(number))


def towns(size=24, apart=2.0):
    """Four towns of which the shares of the ill are known."""
    rng = np.random.default_rng(0)
    shares = {"a": 0.125, "b": 0.875, "c": 0.25, "d": 0.75}
    ill = np.concatenate([np.arange(size) < share * size for share in shares.values()])
    return rng.normal(size=(4 * size, 2)) + apart * ill[:, None] * [1, 0], np.repeat(list(shares), size), shares


def ratios_bag_classifier():
    """Of few small trees and folds, which are settings of speed and not of the format."""
    X, names, shares = towns(40, apart=5.0)
    # The ill are on both sides in one column, so that the trees have a say too.
    X[:, 0] = np.where(np.arange(len(X)) % 2, X[:, 0], -X[:, 0])
    X[:, 1] += np.abs(X[:, 0]) / 4
    solver = "askance.learning.ratios.bag_posterior"
    with (
        mock.patch(f"{solver}._TREES", 6),
        mock.patch(f"{solver}._FOLDS_OF_FEW", 3),
        mock.patch("askance.learning.ratios.ratio_estimator._PROBE_FEATURES", 4),
    ):
        return ask.RatioEstimator(classes=("well", "ill"), random_state=0).fit(X, names, shares)


def ratios_mmd(**parameters):
    chosen = {"method": "mmd", "bandwidth": 2.0, "features": 4, "random_state": 0} | parameters
    return ask.RatioEstimator(**chosen).fit(*towns(), noise=0.001)


def records(channel, states, classes=2, width=3, rows=600, seed=0):
    """Reports of records whose class depends on their first two attributes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1, 1, (rows, width)) if states is None else rng.integers(0, states, (rows, width))
    scores = np.column_stack([np.zeros(rows), 1.5 * X[:, 0] - X[:, 1], X[:, 1] - 0.5][:classes])
    y = np.array(channel.label.classes)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    return channel.simulate((X, y), rng)


def spread(features, label, states, method="auto", **parameters):
    channel = ask.RowChannel(features, label)
    width = parameters.pop("width", 3)
    return ask.SpreadClassifier(channel, method, **parameters).fit(
        *records(channel, states, len(label.classes), width=width)
    )


THREE = ask.RandomizedResponse(["low", "middle", "high"], truth_probability=0.8)
MODELS = {
    "model-v1-regressor-row.json": regressor_row,
    "model-v1-regressor-number.json": regressor_number,
    "model-v1-regressor-waves.json": regressor_waves,
    "model-v1-designs.json": classifier_designs,
    "model-v1-formula.json": classifier_formula,
    "model-v1-prevalence-designs.json": prevalence_designs,
    "model-v1-mean-operator-two.json": mean_operator_two,
    "model-v1-mean-operator-three.json": mean_operator_three,
    "model-v1-proportions-mean-map.json": lambda: proportions("mean-map", 2, loss="square"),
    "model-v1-proportions-laplacian.json": lambda: proportions("laplacian", 2, smoothness=0.5),
    "model-v1-proportions-alternating.json": lambda: proportions("alternating", 2, classes=("no", "yes")),
    "model-v1-proportions-likelihood.json": lambda: proportions("bag-likelihood", 3, classes=("no", "yes", 3)),
    "model-v1-ratios-bag-classifier.json": ratios_bag_classifier,
    "model-v1-ratios-mmd.json": ratios_mmd,
    "model-v1-ratios-mmd-paper.json": lambda: ratios_mmd(
        solution="paper", features=10, target="population", random_state=np.random.default_rng(5)
    ),
    "model-v1-ratios-mmd-linear.json": lambda: ratios_mmd(kernel="linear", bandwidth="auto", level=0.9),
    "model-v1-spread-bits.json": lambda: spread(ask.StateFlip(2, 0.1), ask.Warner(0.9), 2),
    "model-v1-spread-gaussian.json": lambda: spread(ask.GaussianNoise(0.5), ask.Warner(0.9), None),
    "model-v1-spread-laplace.json": lambda: spread(
        ask.LaplaceNoise(0.4), ask.Warner(0.9), None, prior={"mean": 1, "variance": [1.0, 1.0, 1.0]}
    ),
    "model-v1-spread-three-bits.json": lambda: spread(ask.StateFlip(2, 0.1), THREE, 2),
    "model-v1-spread-three-gaussian.json": lambda: spread(ask.GaussianNoise(0.5), THREE, None),
    "model-v1-spread-states.json": lambda: spread(ask.StateFlip(4, 0.1), ask.Warner(0.9), 4, "collapsed"),
    "model-v1-spread-mixed.json": lambda: spread(
        [ask.StateFlip(2, 0.1), ask.GaussianNoise(0.5), ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [0, 1])],
        ask.Warner(0.9, classes=(7, 9)),
        2,
    ),
    "model-v1-spread-spectral.json": lambda: spread(ask.StateFlip(3, 0.2), ask.Warner(0.8), 3, "spectral", width=5),
    "model-v1-spread-sampling.json": lambda: spread(
        ask.StateFlip(3, 0.2), ask.Warner(0.8), 3, "sampling", rounds=3, random_state=1, prior="flat"
    ),
}

# What is asked of a fitted model, where it has it.
ATTRIBUTES = (
    "classes_", "coef_", "intercept_", "parameters_", "parameter_names_", "covariance_", "covariance_kind_", "ridge_",
    "covariance_information_", "covariance_sandwich_",
    "ridges_", "method_", "log_likelihood_", "n_reports_", "n_people_", "n_bags_", "n_rows_", "n_features_in_",
    "proportions_", "unbiased_", "bounds_", "outcome_", "r_squared_", "risk_", "noise_", "privacy_", "channel_",
    "bandwidth_", "bandwidths_", "bandwidth_errors_", "prior_", "cv_results_", "notes_", "converged_",
)  # fmt: skip


def told_by_model(model):
    said = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    said |= {"estimator": type(model).__name__, "params": model.get_params(deep=False)}
    if isinstance(model, ask.Prevalence):
        return plain(said | {"summary": model.summary().values})
    new = NEW[:, : model.n_features_in_] * (3.0 if isinstance(model, ask.RatioEstimator) else 1.0)
    if hasattr(model, "feature_names_in_"):
        new = pd.DataFrame(new, columns=model.feature_names_in_)
    said["predicted"] = model.predict(new)
    if isinstance(model, ask.RatioEstimator):
        estimate = model.estimate(new)
        said |= {
            "interval": np.asarray(model.predict_interval(new)),
            "covariance": estimate.covariance,
            "parts": estimate.parts,
            "diagnosis": dataclasses.asdict(model.diagnose(new)),
        }
        if model.kernel == "linear":  # with more bags than features these come of rounding errors
            for name in ("bag_separation", "q", "theorem_1"):
                del said["diagnosis"][name]
        return plain(said)
    if hasattr(model, "predict_proba") and getattr(model, "loss", None) != "unhinged":
        said |= {"probabilities": model.predict_proba(new), "scores": model.decision_function(new)}
    if isinstance(model, ask.SpreadClassifier):
        said["probabilities of reports"] = model.predict_proba_reports(new)
    if getattr(model, "covariance_", None) is not None:
        said["summary"] = model.summary().values
    return plain(said)


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_predicts_as_it_did(name, tmp_path):
    model = ask.load_model(GOLDEN / name)
    # Random features and forests are computed in single precision, whose last digit depends on the processor.
    close = 1e-6 if isinstance(model, ask.RatioEstimator) else 1e-9
    assert_same(told_by_model(model), told(name, "said"), close)
    assert type(type(model).load(GOLDEN / name)) is type(model)
    model.save(tmp_path / "again.json")
    assert_same(told_by_model(ask.load_model(tmp_path / "again.json")), told(name, "said"), close)


# -- releases of rows --------------------------------------------------------------------------------------------------

NUMBERS = """
[study]
name = "pay"
title = "What people earn"

[questions.hybrid]
text = "What do you earn?"
bounds = [0, 10000]
channel = { design = "private-number", epsilon = 2.0 }

[questions.piecewise]
bounds = [0.0, 1.5]
channel = { design = "private-number", epsilon = 8.0, mechanism = "piecewise" }

[questions.duchi]
bounds = [-1, 1]
channel = { design = "private-number", epsilon = 0.5, mechanism = "duchi" }

[covariates.age]
type = "number"

[covariates.weight]
type = "number"
missing = true

[covariates.school]
type = "category"
levels = ["north", "south"]
"""

ROWS = """
[study]
name = "homes"

[covariates.x]
type = "number"
""" + "".join(
    f"""
[questions.{name}]
columns = {{ income = [0, 15], age = [0, 100], value = [0, 5] }}
channel = {{ design = "private-row", epsilon = 8.0, mechanism = "{name}"{more} }}
"""
    for name, more in {
        "window": ', outcome = "value"', "unit": ", radius = 1.5", "sampled": "", "coordinate": "", "per-value": "",
        "triple": ', outcome = "value"',
    }.items()
)  # fmt: skip

ATTRIBUTES_STUDY = """
[study]
name = "images"

[questions.image]
text = "An image of 2 x 3"
width = 6
channel = { design = "state-flip", states = 4, flip = 0.2 }

[questions.shades]
width = 2
channel = { design = "state-flip", states = [0.0, 0.5, 1.0], flip = [0.1, 0.2] }

[questions.body]
columns = ["height", "smoker"]
channels = [
    { design = "gaussian-noise", sigma = 2.0, bounds = [100, 220] },
    { design = "finite", matrix = [[0.8, 0.3], [0.2, 0.7]], classes = [0, 1] },
]

[questions.place]
columns = ["east", "north"]
channel = { design = "laplace-noise", scale = 0.5, bounds = [0, 2] }

[questions.free]
width = 2
channel = { design = "gaussian-noise", sigma = 0.5 }

[questions.digit]
choices = [7, 9]
channel = { design = "warner", p = 0.9 }
"""

CHOICES = """
[study]
name = "exam"
title = "Cheating in exams, é"

[questions.cheated]
text = "Have you ever cheated?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.9 }

[questions.grade]
choices = [1, 2, 3]
channel = { design = "randomized-response", epsilon = 2.0 }

[questions.share]
choices = [0.5, 1]
channel = { design = "mangat", p = 0.7 }

[questions.drugs]
choices = [false, true]
channel = { design = "crosswise", p = 0.25 }

[questions.tax]
choices = ["no", "yes"]
design_column = "group"
designs.cards = { design = "warner", p = 0.7 }
designs.dice = { design = "forced-response", p_no = 0.15, p_yes = 0.15 }
designs."asked by phone" = { design = "unrelated-question", p = 0.7, prevalence = 0.4 }

[covariates.age]
type = "number"

[covariates.school]
type = "category"
levels = ["north", "south"]

[covariates.town]
type = "category"
missing = true
"""


def truth(rows=200):
    """True answers to all of these questions."""
    rng = np.random.default_rng(1)
    age, school = rng.integers(18, 70, rows).astype(float), rng.choice(["north", "south"], rows)
    income = rng.uniform(0, 15, rows)
    image = rng.integers(0, 4, (rows, 6))
    return {
        "hybrid": 100 * age + rng.uniform(0, 3000, rows),
        "piecewise": age / 50,
        "duchi": age / 50 - 0.9,
        "weight": [None if i % 7 == 0 else 0.5 + i / rows for i in range(rows)],
        "x": rng.normal(size=rows),
        "income": income,
        "value": 1 + income / 5 + rng.uniform(0, 1, rows),
        "image": list(image),
        "shades": list(rng.choice([0.0, 0.5, 1.0], (rows, 2))),
        "height": rng.uniform(150, 200, rows),
        "smoker": rng.integers(0, 2, rows),
        "east": rng.uniform(0, 2, rows),
        "north": rng.uniform(0, 2, rows),
        "free": list(rng.normal(size=(rows, 2))),
        "digit": np.where(image[:, 0] + image[:, 3] + rng.normal(size=rows) > 3, 9, 7),
        "cheated": np.where(age + rng.normal(0, 10, rows) > 44, "yes", "no"),
        "grade": rng.integers(1, 4, rows),
        "share": rng.choice([0.5, 1.0], rows),
        "drugs": rng.random(rows) < 0.3,
        "tax": rng.choice(["no", "yes"], rows),
        "group": rng.choice(["cards", "dice", "asked by phone"], rows),
        "age": age,
        "school": school,
        "town": [None if i % 5 == 0 else f"town {i % 3}" for i in range(rows)],
    }


RELEASES = {
    "release-v1-numbers.parquet": (NUMBERS, None),
    "release-v1-rows.parquet": (ROWS, None),
    "release-v1-attributes.parquet": (ATTRIBUTES_STUDY, None),
    "release-v1-parts": (CHOICES, 100),
}


def write_release(name):
    from askance.releases.privatizing import privatize_table

    text, rows_per_part = RELEASES[name]
    people = {column: list(values) for column, values in truth().items()}
    privatize_table(ask.Study.parse(text), people).write(GOLDEN / name, rows_per_part=rows_per_part)


def told_by_release(release):
    """The header, and every column by a digest and its first rows."""
    table = release.to_table()
    questions = release.header.questions
    return plain(
        {
            "rows": release.num_rows,
            "columns": release.columns,
            "study": [release.header.study, release.header.title, release.header.askance],
            "level": level(release.header.guarantee),
            "questions": told_by_questions(questions),
            "covariates": [[c.name, c.type, c.levels, c.missing] for c in release.header.covariates],
            "first": table.slice(0, 5).to_pydict(),
            "digests": {name: digest(table[name].to_pylist()) for name in table.column_names},
            "read": {question.name: reading(question, table) for question in questions},
        }
    )


def told_by_questions(questions):
    return {q.name: [q.text, q.channel, q.design_column, q.sources, level(q.guarantee)] for q in questions}


def level(guarantee):
    """Its numbers: it follows from the channels, and its words may change."""
    return [guarantee.epsilon, guarantee.delta, guarantee.per_attribute]


def digest(values):
    return hashlib.sha256(json.dumps(plain(values)).encode()).hexdigest()


def reading(question, table):
    """What a learner makes of the reports: the mean of what they tell of the truth without bias."""
    channel, column = question.channel, table[question.name]
    if isinstance(channel, ask.DesignPerRow):
        return channel.unbias(column, table[question.design_column]).mean(axis=0)
    if not question.hides_numbers:
        return channel.unbias(column).mean(axis=0)
    reports = channel.encode_reports(column)
    if isinstance(channel, ask.PrivateRow):
        return channel.moments(reports).mean(axis=0)
    return channel.unbias(features(question, table) if question.hides_features else reports).mean(axis=0)


def features(question, table):
    """Reports on attributes as numbers."""
    codes = question.channel.encode_reports(table[question.name])
    return question.channel.decode(codes) if question.channel.is_finite else codes


def regression(release, question, **options):
    fitted = ask.IndirectRegressor(ridge=1.0).fit_release(release, question=question, **options)
    return {"parameters": fitted.parameters_, "names": fitted.parameter_names_, "errors": fitted.standard_errors_}


def fits_to_release(release):
    """What comes of fitting it, by whatever fits its questions."""
    fits = {}
    table = release.to_table()
    for question in release.header.questions:
        if isinstance(question.channel, ask.PrivateNumber):
            fits[question.name] = regression(release, question.name, formula=f"{question.name} ~ age + C(school)")
        elif isinstance(question.channel, ask.PrivateRow):
            fits[question.name] = regression(release, question.name, formula="value ~ income + age")
        elif question.hides_features:
            channel = ask.RowChannel(question.channel, release.channel("digit"), question.columns)
            fitted = ask.SpreadClassifier(channel, "collapsed", ridge=0.1)
            fitted.fit(features(question, table), table["digit"].to_numpy())
            fits[question.name] = {"parameters": fitted.parameters_, "likelihood": fitted.log_likelihood_}
        else:
            shares = ask.Prevalence().fit_release(release, question=question.name)
            fits[question.name] = {"shares": shares.proportions_, "covariance": shares.covariance_}
    if "cheated" in release.columns:
        fitted = ask.IndirectClassifier().fit_release(release, question="cheated", features=["age"])
        fits["cheated by age"] = {"parameters": fitted.parameters_, "covariance": fitted.covariance_}
    return plain(fits)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_says_what_it_said(name):
    release = ask.read_release(GOLDEN / name)
    assert_same(told_by_release(release), told(name, "said"), 1e-9)
    assert release.header.same_study(ask.Study.parse(RELEASES[name][0]).header())


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@pytest.mark.parametrize("name", RELEASES)
def test_a_fit_to_an_old_release_finds_what_it_found(name):
    assert_same(fits_to_release(ask.read_release(GOLDEN / name)), told(name, "fitted"), 1e-5)


def test_the_parts_of_a_folder_are_releases_too():
    folder = GOLDEN / "release-v1-parts"
    assert sorted(part.name for part in folder.iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    assert [ask.read_release(part).num_rows for part in sorted(folder.iterdir())] == [100, 100]
    assert ask.read_release(folder).num_rows == 200


def test_a_release_is_written_again_as_it_was(tmp_path):
    for name in RELEASES:
        release = ask.read_release(GOLDEN / name)
        assert release.write(tmp_path / name).to_table().equals(release.to_table())


# -- releases of totals ------------------------------------------------------------------------------------------------

OPERATORS = {
    "mean-operator-v1-laplace.json": {"epsilon": "1.5", "mechanism": "laplace", "ids": PEOPLE},
    "mean-operator-v1-knorm.json": {"epsilon": 2, "mechanism": "knorm", "fit_intercept": False},
    "mean-operator-v1-gaussian.json": {"epsilon": "0.5", "delta": "1e-6", "mechanism": "gaussian", "classes": [0, 1]},
    "mean-operator-v1-response.json": {
        "epsilon": 3, "mechanism": "response", "classes": ["no", "perhaps", "yes"], "ids": list(range(60)),
    },
    # Version 2 has keyed digests; version 3 says how features were shaped.
    "mean-operator-v2-laplace.json": {"epsilon": "1.5", "mechanism": "laplace", "ids": PEOPLE, "shape": "none"},
    "mean-operator-v3-standard.json": {
        "epsilon": 2, "mechanism": "laplace", "ids": PEOPLE,
        "shape": ask.LabelShape([-0.75, 0], [0.5, 0.5], [0, 0.25], [0.5, 0.125]),
    },
    "mean-operator-v3-turned.json": {
        "epsilon": "0.5", "delta": "1e-6", "mechanism": "gaussian", "classes": [0, 1], "ids": PEOPLE,
        "shape": ask.LabelShape.turned(
            ask.LabelShape([-0.75, 0], [0.5, 0.5], [0, 0.25], [0.5, 0.125]), np.array([[0.75, -0.5], [0.5, 0.75]]), 1.5
        ),
    },
}  # fmt: skip


def public_features():
    """Exact numbers, so that they have the same digest on every machine."""
    return np.array([[i % 7 / 4 - 0.75, i % 5 / 8] for i in range(60)]), ["age", "height"]


def write_operator(name):
    options = {"classes": [-1, 1]} | OPERATORS[name]
    X, columns = public_features()
    labels = [options["classes"][i * i % 11 % len(options["classes"])] for i in range(60)]
    ask.release_mean_operator(X, labels, columns=columns, **options).write(GOLDEN / name)


def told_by_operator(release):
    operator = release.operator
    return plain(
        {
            "values": operator.values,
            "noise_variance": operator.noise_variance,
            "noise_covariance": operator.noise_covariance,
            "rows": operator.rows,
            "classes": release.classes,
            "guarantee": release.guarantee,
            "mechanism": release.mechanism,
            "how_known": release.how_known,
            "intercept": release.intercept,
            "columns": release.columns,
            "step": release.step,
            "norms": release.norms,
            "predicted": release.predicted,
            "has digest": release.features is not None,
            **({} if release.shape is None else {"shape": release.shape.to_dict()}),
        }
    )


def fits_to_operator(release):
    X, columns = public_features()
    frame = pd.DataFrame(X, columns=columns)
    ridge = 0.1 if release.shape is None else "auto"
    model = ask.MeanOperatorClassifier(ridge=ridge, fit_intercept=release.intercept).fit(frame, release)
    return plain({"parameters": model.parameters_, "covariance": model.covariance_, "noise": model.noise_})


@pytest.mark.filterwarnings("ignore:this release was written by askance 0.1.0")
@pytest.mark.filterwarnings("ignore:The total shows no relation")  # of so few people
@pytest.mark.parametrize("name", OPERATORS)
def test_a_mean_operator_says_what_it_said(name):
    release = ask.read_release(GOLDEN / name)
    assert_same(told_by_operator(release), told(name, "said"), 1e-9)
    assert_same(fits_to_operator(release), told(name, "fitted"), 1e-5)
    assert_written_again(name, release)


def test_a_mean_operator_knows_its_features():
    X, columns = public_features()
    with pytest.warns(ask.AskanceWarning, match="whoever gets it can test guesses about the features"):
        release = ask.read_release(GOLDEN / "mean-operator-v1-laplace.json")
    release.check_features(PEOPLE, columns, X)
    release.check_features(PEOPLE[::-1], columns, X[::-1])
    with pytest.raises(ask.InvalidInput, match="the values of 'age' differ"):
        release.check_features(PEOPLE, columns, X + np.array([0.125, 0]))


COUNTS = {
    "counts-v1-truncated-laplace.json": {"epsilon": 1, "delta": "0.001"},
    "counts-v1-discrete-gaussian.json": {"epsilon": 1, "delta": "0.001"},
    "counts-v1-laplace.json": {"epsilon": "0.5", "disjoint": False},
    "counts-v1-gaussian.json": {"epsilon": "0.5", "delta": "0.001"},
    "counts-v1-laplace-prior.json": {"epsilon": 1},
    "counts-v1-dirichlet.json": {"epsilon": 1, "delta": "0.001"},
    "counts-v1-scaled-dirichlet-paper.json": {"epsilon": 1, "delta": "0.05"},
}


def write_counts(name):
    table = {"north": [50, 150, 800], "south": [300, 300, 400], "west": [30, 50, 20]}
    mechanism = name.removeprefix("counts-v1-").removesuffix(".json")
    done = ask.release_counts(table, mechanism=mechanism, classes=["ill", "at risk", "well"], **COUNTS[name])
    done.write(GOLDEN / name)


def told_by_counts(release):
    return plain(
        {
            "classes": release.classes,
            "bags": release.bags,
            "totals": release.totals,
            "raw": release.raw,
            "proportions": release.proportions,
            "guarantee": release.guarantee,
            "mechanism": release.mechanism,
            "how_known": release.how_known,
            "parameters": release.parameters,
            "predicted": release.predicted,
        }
    )


def fits_to_counts(release):
    """What follows from the law of the noise, which is worked out anew on reading."""
    return plain({"noise": release.noise, "intervals": [release.interval(0.95), release.interval(0.5)]})


@pytest.mark.parametrize("name", COUNTS)
def test_released_counts_say_what_they_said(name):
    release = ask.read_release(GOLDEN / name)
    assert_same(told_by_counts(release), told(name, "said"), 1e-9)
    assert_same(fits_to_counts(release), told(name, "fitted"), 1e-6)
    assert_written_again(name, release)


# -- ledgers -----------------------------------------------------------------------------------------------------------

LEDGER = "ledger-v1.ledger"
PAID = "mean-operator-v1-laplace.json"


def write_ledger(name):
    ledger = ask.Ledger.create(GOLDEN / name, "2.3", "1e-6", data_set="clinic")
    first = ledger.spend("1.5", what="the mean operator of 60 labels (laplace)", people="ids 17")
    ledger.record(first, hashlib.sha256((GOLDEN / PAID).read_bytes()).hexdigest())
    ledger.spend(0.1, "6e-7", what="a release that was never finished")


def told_by_ledger(ledger):
    return plain(ledger.to_dict())


@pytest.fixture
def ledger(tmp_path):
    """A copy: a ledger is opened for writing."""
    return ask.Ledger(shutil.copyfile(GOLDEN / LEDGER, tmp_path / LEDGER))


def test_a_ledger_says_what_was_spent(ledger):
    account = told_by_ledger(ledger)
    assert account == told(LEDGER, "said")
    assert account["budget"] == {"epsilon": "2.3", "delta": "0.000001"}
    assert account["spent"] == {"epsilon": "1.6", "delta": "0.0000006"}
    assert str(ledger.remaining) == "epsilon 0.7, delta 0.0000004"
    first, second = ledger.entries
    assert first.release == hashlib.sha256((GOLDEN / PAID).read_bytes()).hexdigest()
    assert (second.number, second.epsilon, second.release) == (2, "0.1", None)


def test_an_old_ledger_is_spent_to_its_end_and_no_further(ledger):
    with pytest.raises(ask.BudgetSpent, match=r"epsilon 0\.7"):
        ledger.spend("0.70000001", what="too much")
    with pytest.raises(ask.BudgetSpent, match="for these 2 people"):  # whom it was about is not known: everybody
        ledger.spend("0.8", what="other people", people=["ann", "bob"])
    assert ledger.spend("0.7", "4e-7", what="all that is left", people=["ann", "bob"]) == 3
    assert (ledger.remaining.epsilon, ledger.remaining.delta) == (0, 0)
    assert ask.Ledger(ledger.path).entries[2].people == 2
    with pytest.raises(ask.BudgetSpent):
        ledger.spend("0.01", what="one more", people=["ann"])
    ledger.spend("0.7", what="somebody else", people=["cyd"])  # on whom the old entries count, and not the new one


def test_a_ledger_of_version_2_goes_on_from_its_receipts(tmp_path):
    """Written before ledgers knew people: a filter, seals, and entries that count for everybody."""
    ledger = ask.Ledger(shutil.copyfile(GOLDEN / "ledger-v2.ledger", tmp_path / "l"))
    receipt = ledger.receipt()
    assert ledger.filter.kind == "gdp"
    assert [entry.people for entry in ledger.entries] == [None] * 3
    before = ledger.remaining
    ledger.spend("0.01", what="a small one", people=["P01"])
    ledger.check_receipt(receipt)
    assert ledger.entries[-1].people == 1
    assert ledger.remaining.epsilon < before.epsilon
    with pytest.raises(ask.BudgetSpent, match="by the filter gdp"):
        ledger.spend(before.epsilon * 2, what="as if nothing had been", people=["P02"])


def test_a_ledger_of_version_3_knows_its_people(tmp_path):
    ledger = ask.Ledger(shutil.copyfile(GOLDEN / "ledger-v3.ledger", tmp_path / "l"))
    assert [entry.whom for entry in ledger.entries] == [
        "40 people, all new", "30 people", "everybody", "11 people, 1 new",
    ]  # fmt: skip
    assert str(ledger.spent) == "epsilon 0.65"
    with pytest.raises(ask.BudgetSpent, match="for these 2 people, of whom it knows 1"):
        ledger.spend("0.4", what="somebody who is known", people=["p00 ", "another"])
    ledger.spend("0.35", what="what is left", people=["p00 "])
    diary = ask.Memoised(ask.RandomizedResponse(["no", "yes"], epsilon=0.25), 0.2)
    ledger.spend_panel(diary, panel="diary", what="week 2", people=["P39"])
    ledger.spend("0.35", what="what is left", people=["P39"])  # 0.3, 0.1 and the panel once


# -- studies and channels ----------------------------------------------------------------------------------------------

STUDIES = {
    "study-v1-template.toml": ask.Study.template(),
    "study-v1-choices.toml": CHOICES,
    "study-v1-numbers.toml": NUMBERS,
    "study-v1-rows.toml": ROWS,
    "study-v1-attributes.toml": ATTRIBUTES_STUDY,
}


def write_study(name):
    """The template as it is handed out, and others as ``to_toml`` writes them."""
    text = STUDIES[name] if "template" in name else ask.Study.parse(STUDIES[name]).to_toml()
    (GOLDEN / name).write_text(text, encoding="utf-8", newline="\n")


def told_by_study(study):
    return plain(
        {
            "name": study.name,
            "title": study.title,
            "level": level(study.guarantee),
            "questions": told_by_questions(study.questions),
            "covariates": [[c.name, c.type, c.levels, c.missing] for c in study.covariates],
        }
    )


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_file_says_what_it_said(name):
    study = ask.Study.read(GOLDEN / name)
    assert_same(told_by_study(study), told(name, "said"), 1e-9)
    assert ask.Study.parse(study.to_toml()) == study


def test_study_files_and_releases_tell_of_the_same_studies():
    for name, (text, _) in RELEASES.items():
        (kind,) = [kind for kind, other in STUDIES.items() if other == text]
        assert ask.Study.read(GOLDEN / kind).header().same_study(ask.read_release(GOLDEN / name).header)


CHANNELS = {  # of the kinds that channel-specs-v1.json and number_channels.json do not hold
    "designs": ask.DesignPerRow(DESIGNS),
    "states": ask.StateFlip(4, 0.2),
    "named states": ask.StateFlip([0.0, 0.5, 1.0], [0.1, 0.2], dim=2),
    "gaussian": ask.GaussianNoise(0.5),
    "gaussian with bounds": ask.GaussianNoise([0.5, 2.0], bounds=(0, 1), dim=2),
    "laplace": ask.LaplaceNoise(0.5, bounds=(0, 2)),
    "sampled": ask.SampledCoordinates(5, 4.0),
    "record": ask.RowChannel(
        [ask.StateFlip(3, 0.2), ask.GaussianNoise(0.5), ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [1, 0])],
        ask.Warner(0.8, classes=(7, 9)),
        ["grade", "height", "smoker"],
    ),
    "record without a label": ask.RowChannel(ask.StateFlip(2, 0.2)),
    "regions": ask.RegionCounts(["N", "V"], 3),
}
CHANNEL_FILE = "channel-specs-v1-records.json"


def write_channels(name):
    specs = {kind: channel.to_spec() for kind, channel in CHANNELS.items()}
    (GOLDEN / name).write_text(json.dumps(specs, indent=1) + "\n", encoding="utf-8", newline="\n")


@pytest.mark.parametrize("kind", CHANNELS)
def test_a_spec_is_read_as_the_channel_that_it_was(kind):
    spec = json.loads((GOLDEN / CHANNEL_FILE).read_text(encoding="utf-8"))[kind]
    assert ask.channel_from_spec(spec) == CHANNELS[kind]


# -- all of them -------------------------------------------------------------------------------------------------------

# How each file is written. Models come last, since one of them is fitted to a release.
FILES = {
    **dict.fromkeys(RELEASES, write_release),
    **dict.fromkeys(OPERATORS, write_operator),
    **dict.fromkeys(COUNTS, write_counts),
    LEDGER: write_ledger,
    **dict.fromkeys(STUDIES, write_study),
    CHANNEL_FILE: write_channels,
    **dict.fromkeys(MODELS, lambda name: MODELS[name]().save(GOLDEN / name)),
}


def all_told(name):
    """What a file says now."""
    if name in RELEASES:
        release = ask.read_release(GOLDEN / name)
        return {"said": told_by_release(release), "fitted": fits_to_release(release)}
    if name in OPERATORS:
        release = ask.read_release(GOLDEN / name)
        return {"said": told_by_operator(release), "fitted": fits_to_operator(release)}
    if name in COUNTS:
        counts = ask.read_release(GOLDEN / name)
        return {"said": told_by_counts(counts), "fitted": fits_to_counts(counts)}
    if name == LEDGER:
        return {"said": told_by_ledger(ask.Ledger(GOLDEN / name))}
    if name in STUDIES:
        return {"said": told_by_study(ask.Study.read(GOLDEN / name))}
    if name in MODELS:
        return {"said": told_by_model(ask.load_model(GOLDEN / name))}
    return {"said": {}}


def test_no_file_is_lost_and_each_has_said_something():
    assert json.loads(TOLD.read_text(encoding="utf-8")).keys() == FILES.keys()
    assert [name for name in FILES if not (GOLDEN / name).exists()] == []


if __name__ == "__main__":
    known = json.loads(TOLD.read_text(encoding="utf-8")) if TOLD.exists() else {}
    for file, write in FILES.items():
        if file in known:
            continue
        if not (GOLDEN / file).exists():
            write(file)
        known[file] = all_told(file)
        print(f"{file} has told")
        lines = [f"{json.dumps(name)}: {json.dumps(said, allow_nan=False)}" for name, said in known.items()]
        TOLD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
