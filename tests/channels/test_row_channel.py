"""Features and label of a record, hidden independently: draws, the level of the record, specs, and releases."""

import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.releases.privatizing import privatize_table
from askance.releases.row_reports import read_row_reports

LABEL = ask.FiniteChannel([[0.7, 0.2], [0.3, 0.8]], ["cat", "dog"])
MIXED = ask.RowChannel(
    [ask.StateFlip(3, 0.2), ask.GaussianNoise(0.5), ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [1, 0])],
    label=LABEL,
    columns=["grade", "height", "smoker"],
)


def test_every_cell_of_a_whole_record_is_the_product_of_its_parts():
    # All 2 x 3 x 2 reports for each of 12 truths: six standard errors each, below 1e-6 together.
    channel = ask.RowChannel([ask.StateFlip(2, 0.2), ask.StateFlip(3, 0.3)], label=LABEL)
    laws, rows = channel.features.laws, 40_000
    for x0, x1, label in itertools.product(range(2), range(3), range(2)):
        truth = np.tile([x0, x1], (rows, 1)), np.full(rows, LABEL.classes[label])
        features, labels = channel.simulate(truth, np.random.default_rng(100 + 6 * x0 + 2 * x1 + label))
        for o0, o1, told in itertools.product(range(2), range(3), range(2)):
            chance = laws[0].matrix[o0, x0] * laws[1].matrix[o1, x1] * LABEL.matrix[told, label]
            seen = np.mean((features[:, 0] == o0) & (features[:, 1] == o1) & (labels == LABEL.classes[told]))
            assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / rows)


def test_the_level_of_a_record_is_enumerated():
    channel = ask.RowChannel([ask.StateFlip(2, 0.2), ask.StateFlip(3, 0.3)], label=LABEL)
    parts = [law.matrix for law in channel.features.laws] + [LABEL.matrix]
    whole = parts[0]
    for part in parts[1:]:
        whole = np.kron(whole, part)
    level = np.log(whole.max(axis=1) / whole.min(axis=1)).max()
    assert channel.guarantee.epsilon == pytest.approx(level, rel=1e-12)
    assert channel.guarantee.per_attribute == pytest.approx((math.log(4), math.log(14 / 3), math.log(3.5)))
    assert channel.guarantee.repeated(5).epsilon == pytest.approx(5 * level)
    report = ask.audit(channel, draws=20_000, error_rate=1e-9)
    assert report.passed
    assert report.exact_epsilon == pytest.approx(level)
    assert "The whole record" in str(report)


def test_an_image_with_its_label_says_6069_in_words():
    channel = ask.RowChannel(ask.StateFlip(256, 0.1, dim=784), label=ask.Warner(0.9, classes=(7, 9)))
    assert "epsilon 6069" in channel.describe()
    assert "e^6069" in channel.describe()
    assert "next to no protection" in channel.describe()
    assert "7.738" in channel.describe()


def test_labels_may_be_told_as_they_are():
    channel = ask.RowChannel(ask.StateFlip(2, 0.2, dim=2))
    features, labels = channel.privatize((np.zeros((3, 2), int), ["a", "b", "c"]))
    assert labels.tolist() == ["a", "b", "c"]
    assert channel.guarantee.epsilon == pytest.approx(2 * math.log(4))
    assert "the label is told as it is" in str(channel.guarantee)
    assert channel.label is None
    assert features.shape == (3, 2)


@pytest.mark.parametrize(
    "channel",
    [
        MIXED,
        ask.RowChannel(ask.StateFlip(2, 0.2)),
        ask.RowChannel(ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [0, 1]), label=ask.Warner(0.8)),
        ask.RowChannel(ask.LaplaceNoise(1.0, bounds=(0, 1)), label=LABEL, columns=["a", "b"]),
    ],
    ids=repr,
)
def test_specs_go_round(channel):
    read = ask.channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert read == channel
    assert pickle.loads(pickle.dumps(channel)) == channel
    assert hash(read) == hash(channel)
    assert read.for_width(channel.dim or 4).guarantee == channel.for_width(channel.dim or 4).guarantee


def test_mixed_attributes_keep_their_columns():
    truth = np.column_stack([np.tile([0, 1, 2], 2000), np.linspace(100, 200, 6000), np.tile([0, 1], 3000)])
    features, labels = MIXED.simulate((truth, np.tile(["cat", "dog"], 3000)), np.random.default_rng(4))
    assert set(np.unique(features[:, 0])) == {0, 1, 2}
    assert set(np.unique(features[:, 2])) == {0, 1}
    assert np.std(features[:, 1] - truth[:, 1]) == pytest.approx(0.5, rel=0.05)
    kept = np.mean(features[:, 0] == truth[:, 0])
    assert kept == pytest.approx(0.8, abs=0.03)  # 5.8 standard errors
    ones = features[truth[:, 2] == 1, 2].mean()
    assert ones == pytest.approx(0.8, abs=0.045)  # 6 standard errors: the table's first state is 1
    told = MIXED.features.unbias(features)
    assert np.array_equal(told[:, 1], features[:, 1])
    assert told[truth[:, 2] == 1, 2].mean() == pytest.approx(1.0, abs=0.09)
    assert set(labels) == {"cat", "dog"}


def test_tables_are_taken_by_name():
    table = pd.DataFrame({"smoker": [0, 1], "grade": [2, 0], "height": [1.5, 2.5], "name": ["x", "y"]})
    features, _ = MIXED.simulate((table, ["cat", "dog"]), np.random.default_rng(0))
    same, _ = MIXED.simulate((np.array([[2, 1.5, 0], [0, 2.5, 1]]), ["cat", "dog"]), np.random.default_rng(0))
    assert np.array_equal(features, same)
    with pytest.raises(ask.InvalidInput, match="no column 'grade'"):
        MIXED.privatize((table.drop(columns="grade"), ["cat", "dog"]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ask.RowChannel(3), "one attribute|an attribute"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), label="warner"), "finite channel"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), label=ask.StateFlip(2, 0.1)), "finite channel"),
        (
            lambda: ask.RowChannel(
                ask.StateFlip(2, 0.1), label=ask.FiniteChannel(np.array([[4, 2, 3], [4, 6, 5]]) / 8, [0, 1, 2], [0, 1])
            ),
            "do not determine",
        ),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1, dim=3), columns=["a", "b"]), "2 columns and a channel for 3"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), columns=["a", "a"]), "each once"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), columns="ab"), "names"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1)).guarantee, "how many attributes"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1)).privatize(np.zeros((2, 2))), "two parts|features, labels"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1)).privatize((np.zeros((2, 2)), [1])), "one label for each row"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), LABEL).privatize((np.zeros((1, 2)), ["cow"])), "'cow'"),
        (lambda: ask.RowChannel(ask.StateFlip(2, 0.1), LABEL).privatize((np.full((1, 2), 2), ["cat"])), "2 in row 1"),
        (lambda: ask.channel_from_spec({"channel": "row", "features": {"channel": "state-flip"}}), "state-flip"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ask.InvalidInput, match=words):
        make()


# -- studies and releases ------------------------------------------------------------------------------

STUDY = """
[questions.image]
width = 6
channel = { design = "state-flip", states = 4, flip = 0.3 }

[questions.body]
columns = ["height", "smoker"]
channels = [
    { design = "gaussian-noise", sigma = 2.0, bounds = [100, 220] },
    { design = "finite", matrix = [[0.8, 0.3], [0.2, 0.7]], classes = [0, 1] },
]

[questions.digit]
choices = [7, 9]
channel = { design = "warner", p = 0.8 }
"""


def records(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "image": list(rng.integers(0, 4, (rows, 6))),
        "height": rng.uniform(150, 200, rows),
        "smoker": rng.integers(0, 2, rows),
        "digit": rng.choice([7, 9], rows),
    }


def test_a_study_with_attributes_reads_back_and_adds_levels_up():
    study = ask.Study.parse(STUDY)
    assert ask.Study.parse(study.to_toml()) == study
    image, body, digit = study.questions
    assert image.channel == ask.StateFlip(4, 0.3, dim=6)
    assert body.sources == ("height", "smoker")
    parts = [question.guarantee.epsilon for question in (image, body, digit)]
    assert study.guarantee.epsilon == pytest.approx(sum(parts))
    assert len(study.guarantee.per_attribute) == 6 + 2 + 1


def test_reports_come_back_from_a_release(tmp_path):
    study, truth = ask.Study.parse(STUDY), records()
    release = privatize_table(study, truth).write(tmp_path / "r.parquet")
    assert release.columns == ["image", "body", "digit"]
    assert release.header.question("body").columns == ("height", "smoker")
    told = read_row_reports(release, "image", "digit")
    assert told.features.shape == (3000, 6)
    assert told.features.dtype == np.uint8
    assert told.channel == ask.RowChannel(ask.StateFlip(4, 0.3, dim=6), ask.Warner(0.8, classes=(7, 9)))
    kept = np.mean(told.features == np.array(truth["image"]))
    assert kept == pytest.approx(0.7, abs=0.02)  # 5.8 standard errors of 18,000 attributes
    assert np.mean(told.labels == truth["digit"]) == pytest.approx(0.8, abs=0.045)  # 6 standard errors
    body = read_row_reports(release, "body")
    assert body.channel.columns == ("height", "smoker")
    off = body.features[:, 0] - truth["height"]
    assert np.std(off) == pytest.approx(2.0, rel=0.1)
    assert set(np.unique(body.features[:, 1])) == {0, 1}
    with pytest.raises(ask.InvalidInput, match=r"2 questions about features \(image, body\)"):
        read_row_reports(release)
    with pytest.raises(ask.InvalidInput, match="hidden one by one"):
        read_row_reports(release, "digit", "digit")


@pytest.mark.parametrize(
    "design", ['"state-flip", states = 3, flip = 0.2', '"laplace-noise", scale = 0.5, bounds = [0, 2]']
)
def test_a_single_attribute_is_a_row_of_one(design):
    study = ask.Study.parse(
        f'[questions.x]\ncolumns = ["x1"]\nchannel = {{ design = {design} }}\n'
        '[questions.y]\nchoices = [0, 1]\nchannel = { design = "warner", p = 0.8 }\n'
    )
    told = read_row_reports(privatize_table(study, {"x1": [0, 1, 2], "y": [0, 1, 1]}))
    assert told.features.shape == (3, 1)
    assert ask.audit(told.channel, draws=2000, error_rate=1e-9).passed


def test_true_attributes_stay_behind(tmp_path):
    truth = records(200)
    study = ask.Study.parse(STUDY)
    release = privatize_table(study, truth)
    assert not {"height", "smoker"} & set(release.columns)
    with pytest.raises(ask.InvalidInput, match="declared again"):
        ask.Study.parse(STUDY + '[covariates.height]\ntype = "number"\n')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": [[0, 1, 2, 3, 0, 4]]}, "column 'image', row 1: attribute 6 is 4, not one of 4 states, 0 to 3"),
        ({"image": [[0, 1, 2, 3, 0]]}, "an array of 5, where an array of 6"),
        ({"image": [[0, 1, 2, 3, 0, None]]}, "attribute 6 is None"),
        ({"image": [[0, 1, 2, 3, 0, math.nan]]}, "attribute 6 is nan"),
        ({"image": [None]}, "column 'image', row 1: the value is missing"),
        ({"image": [7]}, "no array"),
        ({"height": [math.nan]}, "column 'height', row 1: the value is missing"),
        ({"smoker": [2]}, "column 'smoker', row 1: 2 is not one of 2 states"),
        ({"smoker": ["x"]}, "'x' is not one of 2 states"),
    ],
)
def test_faults_of_attributes_are_named(change, words):
    good = {"image": [[0, 1, 2, 3, 0, 1]], "height": [170.0], "smoker": [1], "digit": [7]}
    study = ask.Study.parse(STUDY)
    assert privatize_table(study, good).num_rows == 1
    with pytest.raises(ask.InvalidInput, match=words):
        privatize_table(study, good | change)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'width = 3\nchannel = { design = "state-flip", states = 2, flip = 0.5 }',
            r"\[questions.q.channel\]: flip=0.5",
        ),
        ('width = 0\nchannel = { design = "state-flip", states = 2, flip = 0.2 }', "width = 0"),
        ('width = true\nchannel = { design = "state-flip", states = 2, flip = 0.2 }', "width = True"),
        ('width = 3\nchannel = { design = "state-flip", states = 2 }', "has no flip"),
        ('width = 3\nchannel = { design = "state-flip", states = 2, flip = 0.2, dim = 3 }', "unknown key 'dim'"),
        ('width = 3\nchannel = { design = "warner", p = 0.2 }', "attribute has the state 'no'"),
        (
            'width = 3\nchannel = { design = "state-flip", states = 2, flip = [0.1, 0.2] }',
            "3 columns and a channel for 2",
        ),
        ("width = 3", "neither of channel and channels"),
        ("width = 3\nchannels = [1, 2, 3]", "a list of"),
        ('width = 2\nchannels = [{ design = "state-flip", states = 2, flip = 0.2 }]', "2 columns and a channel for 1"),
        ('columns = []\nchannel = { design = "state-flip", states = 2, flip = 0.2 }', "each once"),
        (
            'columns = ["a"]\nwidth = 1\nchannel = { design = "state-flip", states = 2, flip = 0.2 }',
            "columns and width",
        ),
        (
            'width = 2\ndesign_column = "g"\nchannel = { design = "state-flip", states = 2, flip = 0.2 }',
            "one design only",
        ),
        ('choices = [0, 1]\nchannels = [{ design = "state-flip", states = 2, flip = 0.2 }]', "channels"),
        ('width = 2\nchannel = { design = "gaussian-noise", sigma = "1" }', "a number, without quotes"),
    ],
)
def test_study_files_with_odd_attributes_are_refused_with_the_place(text, words):
    with pytest.raises(ask.InvalidInput, match=words):
        ask.Study.parse(f"[questions.q]\n{text}\n")


def test_questions_about_attributes_are_not_taken_for_others():
    release = privatize_table(ask.Study.parse(STUDY), records(50))
    with pytest.raises(ask.InvalidInput, match="hides numbers"):
        ask.Prevalence(ask.Warner(0.8)).fit_release(release, question="image")
    with pytest.raises(ask.InvalidInput, match="reports about hidden numbers"):
        ask.IndirectClassifier(ask.Warner(0.8, classes=(7, 9))).fit_release(
            release, question="digit", features=["image"]
        )


def test_several_reports_raise_the_level_of_each_part_in_words_too():
    once = ask.RowChannel(ask.StateFlip(2, 0.1, dim=3), ask.Warner(0.8)).guarantee
    thrice = once.repeated(3)
    assert max(thrice.per_attribute) == pytest.approx(3 * math.log(9))
    assert "each alone at most 6.592, reported 3 times" in str(thrice)
    assert "each alone 4.394, reported 2 times" in str(ask.StateFlip(2, 0.1, dim=3).guarantee.repeated(2))


def test_a_person_whose_numbers_have_no_bounds_is_told_why_nothing_is_promised():
    study = ask.Study.parse(
        """
        [questions.row]
        width = 2
        channel = { design = "gaussian-noise", sigma = 1.0 }
        [questions.label]
        choices = [0, 1]
        channel = { design = "warner", p = 0.8 }
        """
    )
    release = privatize_table(study, {"row": [[0.0, 1.0]], "label": [1]})
    assert "no public bounds" in release.header.guarantee.in_words()


def test_states_in_single_precision_are_still_the_states():
    design = 'channel = { design = "state-flip", states = [0.1, 0.2, 0.3], flip = 0.1 }'
    rows = np.array([[0.1, 0.3], [0.2, 0.1]], dtype=np.float32)
    as_columns = ask.Study.parse(f'[questions.row]\ncolumns = ["a", "b"]\n{design}')
    told = privatize_table(as_columns, pd.DataFrame(rows, columns=["a", "b"]))
    assert told.to_table().num_rows == 2
    as_arrays = ask.Study.parse(f"[questions.row]\nwidth = 2\n{design}")
    assert privatize_table(as_arrays, {"row": list(rows)}).to_table().num_rows == 2
    rows[1, 0] = 0.7
    with pytest.raises(ask.errors.InvalidInput, match=r"row 2: attribute 1 is 0\.69"):
        privatize_table(as_arrays, {"row": list(rows)})
