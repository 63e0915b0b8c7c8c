"""The study file: what is written is meant, and every mistake is told with its place."""

import math
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askance as ask
from askance import InvalidInput, Study
from askance.channels.specs import FINITE_CHANNELS
from askance.releases.header import Covariate, Question
from askance.releases.privatizing import privatize_table
from askance.releases.study_file import parse_study

QUESTION = '[questions.a]\nchoices = ["no", "yes"]\n'
WARNER = QUESTION + 'channel = { design = "warner", p = 0.8 }\n'


def test_the_template_is_a_study() -> None:
    study = ask.Study.parse(ask.Study.template())
    assert study.name == "exam-cheating"
    assert study.title == "Cheating in exams"
    assert study.channels["cheated"] == ask.Warner(0.8)
    assert study.channels["drugs"] == ask.RandomizedResponse(["never", "once", "often"], epsilon=1.0)
    assert study.channels["tax"] == ask.DesignPerRow({"cards": ask.Warner(0.7), "dice": ask.ForcedResponse(0.15, 0.15)})
    assert study.covariates == (
        Covariate("age", "number"),
        Covariate("school", "category", ("north", "south"), missing=True),
    )


def test_the_levels_of_the_questions_add_up() -> None:
    study = ask.Study.parse(ask.Study.template())
    assert study.guarantee.epsilon == pytest.approx(math.log(4) + 1.0 + math.log(0.85 / 0.15))
    assert study.header().guarantee == study.guarantee
    assert "all 3 answers of one person" in study.guarantee.protects


def test_a_study_is_read_from_a_file_and_written_back(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(ask.Study.template(), encoding="utf-8")
    study = ask.Study.read(path)
    path.write_text(study.to_toml(), encoding="utf-8-sig")
    assert ask.Study.read(path) == study


DESIGN_PARAMETERS = {
    "randomized-response": "truth_probability = 0.5, base = [0.25, 0.75]",
    "finite": 'matrix = [[0.5, 0.1], [0.3, 0.1], [0.2, 0.8]], reports = ["a", "b", "c"]',
    "identity": "",
    "warner": "p = 0.8",
    "crosswise": "p = 0.25",
    "forced-response": "p_no = 0.1, p_yes = 0.2",
    "unrelated-question": "p = 0.7, prevalence = 0.4",
    "mangat": "p = 0.7",
    "triangular": "p = 0.25",
    "kuk": "p_carrier = 0.8, p_noncarrier = 0.2",
    "stochastic-lie-detector": "p = 0.8, truthful = 0.9",
    "cheaters": 'device = { design = "warner", p = 0.8 }, share = 0.1',
    "random-answers": 'device = { design = "crosswise", p = 0.25 }, share = "unknown"',
    "coarsening": 'groups = { low = ["no"], high = ["yes"] }',
    "candidate-sets": "inclusion = 0.3",
    "repeated": 'device = { design = "warner", p = 0.8 }, times = 3',
    "anchor": 'device = { design = "crosswise", p = 0.25 }',
}


@pytest.mark.parametrize("design", [channel.kind for channel in FINITE_CHANNELS])
def test_every_design_can_be_written_in_a_study(design: str) -> None:
    parameters = DESIGN_PARAMETERS[design]
    study = ask.Study.parse(QUESTION + f'channel = {{ design = "{design}"{", " * bool(parameters)}{parameters} }}')
    assert study.channels["a"].to_spec()["channel"] == design
    assert ask.Study.parse(study.to_toml()) == study


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(name=text.filter(bool), title=text, choices=st.lists(text, min_size=2, max_size=4, unique=True), level=text)
def test_any_text_survives_the_way_through_toml(name: str, title: str, choices: list[str], level: str) -> None:
    question = Question(name, ask.RandomizedResponse(choices, epsilon=1.0), title)
    covariate = Covariate(name + "'", "category", (level, level + "x"))
    study = ask.Study((question,), (covariate,), title, name)
    assert ask.Study.parse(study.to_toml()) == study


def test_choices_may_be_numbers_or_truth_values() -> None:
    for choices, classes in (("[0, 1, 2]", (0, 1, 2)), ("[false, true]", (False, True)), ("[0.5, 1.0]", (0.5, 1.0))):
        study = ask.Study.parse(f'[questions.a]\nchoices = {choices}\nchannel = {{ design = "identity" }}')
        assert study.channels["a"].classes == classes


MISTAKES = [
    ("", "no questions"),
    ("[questions", "not valid TOML.*at end of document"),
    *((f"[questions.{name}]", 'stand in quotes: .questions."größe"') for name in ("größe", "学校", "my question")),
    ('[study]\nname = "x"', "no questions"),
    ("[question.a]\n", "unknown key 'question'.*Did you mean 'questions'"),
    ("questions = 3", "questions = 3; expected a table"),
    ("[questions]\na = 3", r"\[questions\] has a = 3"),
    ("[study]\nnme = 'x'\n" + WARNER, r"\[study\] has an unknown key 'nme'.*'name'"),
    ("[study]\nname = 3\n" + WARNER, r"\[study\] has name = 3; expected text"),
    (QUESTION, r"\[questions.a\] has neither of channel and designs"),
    (WARNER + 'designs.x = { design = "warner", p = 0.8 }', "has both of channel and designs"),
    ('[questions.a]\nchannel = { design = "warner", p = 0.8 }', r"\[questions.a\] has no 'choices'"),
    ('[questions.a]\nchoices = "no"', "a list in"),
    ('[questions.a]\nchoices = ["no"]\nchannel = { design = "identity" }', "at least two"),
    ('[questions.a]\nchoices = ["no", "no"]\nchannel = { design = "identity" }', "more than once"),
    ('[questions.a]\nchoices = ["no", 1]\nchannel = { design = "identity" }', "several kinds"),
    (QUESTION + 'chanel = { design = "warner" }', "unknown key 'chanel'.*Did you mean 'channel'"),
    (QUESTION + "channel = 0.8", "channel = 0.8; expected a table"),
    (QUESTION + "channel = { p = 0.8 }", r"\[questions.a.channel\] has no 'design'"),
    (QUESTION + 'channel = { design = "warnr", p = 0.8 }', "unknown design 'warnr'.*Did you mean 'warner'"),
    (QUESTION + 'channel = { design = "warner" }', r"\[questions.a.channel\] has no p; expected"),
    (QUESTION + 'channel = { design = "warner", q = 0.8 }', "unknown key 'q'.*design, p"),
    (QUESTION + 'channel = { design = "warner", p = 80 }', r"\[questions.a.channel\]: p=80.*0.8"),
    (QUESTION + 'channel = { design = "warner", p = true }', "p = True; expected a number"),
    (QUESTION + 'channel = { design = "warner", p = "0.8" }', "p = '0.8'; expected a number"),
    (QUESTION + 'channel = { design = "warner", p = 0.5 }', r"\[questions.a.channel\].*no number of reports"),
    (QUESTION + 'channel = { design = "warner", p = 0.8, classes = ["a", "b"] }', "unknown key 'classes'"),
    (QUESTION + 'channel = { design = "randomized-response" }', "exactly one of the two"),
    (QUESTION + 'channel = { design = "randomized-response", epsilon = -1 }', "positive"),
    (QUESTION + 'channel = { design = "randomized-response", epsilon = 1, base = ["x", "y"] }', "base="),
    (QUESTION + 'channel = { design = "finite", matrix = [[1, 2], [3]] }', "matrix"),
    (QUESTION + 'channel = { design = "finite", matrix = [[0.9, 0.2], [0.2, 0.8]] }', "sums to 1.1"),
    (QUESTION + 'designs.x = { design = "warner", p = 0.8 }', "several designs and no design_column"),
    (WARNER + 'design_column = "g"', "one design"),
    (QUESTION + 'design_column = "g"\ndesigns = {}', "no designs"),
    (QUESTION + 'design_column = "g"\ndesigns.x = { design = "warner" }', r"\[questions.a.designs.x\] has no p"),
    (WARNER + '[covariates.a]\ntype = "number"', "'a' is declared more than once"),
    ("[questions.a]\nchoices = [0, 9007199254740993]\nchannel = { design = 'identity' }", "Write long codes as text"),
    (
        QUESTION + 'design_column = "g"\ndesigns.x = { design = "warner", p = 0.8 }\n[covariates.g]\ntype = "number"',
        "'g' is declared more than once.*published anyway",
    ),
    (WARNER + "[covariates.b]", r"\[covariates.b\] has no 'type'"),
    (WARNER + '[covariates.b]\ntype = "numbr"', "Did you mean 'number'"),
    (WARNER + '[covariates.b]\ntype = "number"\nlevels = [1, 2]', "category"),
    (WARNER + '[covariates.b]\ntype = "category"\nlevels = ["x"]', "at least two"),
    (WARNER + '[covariates.b]\ntype = "category"\nlevls = ["x", "y"]', "Did you mean 'levels'"),
    (WARNER + '[covariates.b]\ntype = "number"\nmissing = "yes"', "true or false"),
]


@pytest.mark.parametrize(("toml", "message"), MISTAKES)
def test_a_mistake_is_told_with_file_and_place(toml: str, message: str) -> None:
    with pytest.raises(ask.InvalidInput, match=message) as caught:
        ask.Study.parse(toml, "study.toml")
    assert str(caught.value).startswith("study.toml")
    assert str(caught.value).count("study.toml") == 1


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ask.InvalidInput, match=r"no study file .*nowhere\.toml"):
        ask.Study.read(tmp_path / "nowhere.toml")
    with pytest.raises(ask.InvalidInput, match="cannot be read"):
        ask.Study.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'[study]\ntitle = "Pr\xfcfung"\n')
    with pytest.raises(ask.InvalidInput, match=r"latin\.toml is not text in UTF-8"):
        ask.Study.read(tmp_path / "latin.toml")


def test_a_study_needs_a_question() -> None:
    with pytest.raises(ask.InvalidInput, match="no questions"):
        ask.Study(())


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    with pytest.raises(ask.InvalidInput, match=r"^x"):  # random text is no study
        parse_study(text, "x")


def test_fractions_and_other_words(tmp_path: Path) -> None:
    text = """
    [questions.cheated]
    choices = ["no", "yes"]
    channel = { design = "forced-response", p_no = "1/6", p_yes = " 1 / 6 " }
    recode = { "No" = "no", "0" = "no", "1" = "yes" }
    [covariates.school]
    type = "category"
    levels = ["north", "south"]
    recode = { "N" = "north" }
    """
    study = Study.parse(text)
    assert study.channels["cheated"] == ask.ForcedResponse(1 / 6, 1 / 6)
    again = Study.parse(study.to_toml())
    assert again.questions[0].recode == (("No", "no"), ("0", "no"), ("1", "yes"))
    assert again.covariates[0].recode == (("N", "north"),)
    table = pa.table({"cheated": ["No", "yes", "0", "1"], "school": ["N", "south", "north", "N"]})
    release = privatize_table(study, table)
    assert release.to_table()["school"].to_pylist() == ["north", "south", "north", "north"]
    assert set(release.to_table()["cheated"].to_pylist()) <= {"no", "yes"}
    numbers = pa.table({"cheated": [0, 1, 1, 0], "school": ["N"] * 4})
    assert privatize_table(study, numbers).to_table().num_rows == 4


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('recode = { "No" = "nope" }', "recodes 'No' as 'nope'; expected one of 'no', 'yes'"),
        ('recode = { "no" = "yes" }', "which is a label itself"),
        ('recode = "No"', "a table"),
    ],
)
def test_other_words_that_cannot_be(toml: str, message: str) -> None:
    text = f'[questions.q]\nchoices = ["no", "yes"]\nchannel = {{ design = "warner", p = 0.8 }}\n{toml}'
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Study.parse(text)
    numbers = '[questions.q]\nchoices = [0, 1]\nchannel = { design = "warner", p = 0.8 }\nrecode = { "1" = 0 }'
    with pytest.raises(InvalidInput, match="which is a label itself"):
        Study.parse(numbers)
    with pytest.raises(InvalidInput, match="such as '1/6'"):
        Study.parse('[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = "1/0" }')


@pytest.mark.parametrize(("word", "meant"), [("No", "no"), (" yes", "yes"), ("0", "no"), ("TRUE", "yes")])
def test_a_word_that_differs_a_little_is_told_with_what_was_meant(word: str, meant: str) -> None:
    study = Study.parse('[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }')
    with pytest.raises(InvalidInput) as refused:
        privatize_table(study, pa.table({"q": [word]}))
    assert f'did you mean \'{meant}\'? The study file can say recode = {{ "{word}" = "{meant}" }}' in str(refused.value)


def test_all_words_that_differ_a_little_are_told_at_once() -> None:
    text = '[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }\nrecode = { "N" = "no" }'
    with pytest.raises(InvalidInput) as refused:
        privatize_table(Study.parse(text), pa.table({"q": ["N", "NO", "yes", "Yes ", "NO", "perhaps", None]}))
    assert 'recode = { "N" = "no", "NO" = "no", "Yes " = "yes" }' in str(refused.value)
    assert str(refused.value).count("perhaps") == 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("55.2%", "write 55.2, as digits alone"),
        ("€ 55", "write 55, as digits alone"),
        ("\N{MINUS SIGN}3.5", "write -3.5, as digits alone"),
        ("1,255.2", "write 1255.2, with nothing between thousands"),
        ("1,255", "with a decimal point (1255 or 1.255)"),
        ("12,5", "with a decimal point (12.5)"),
        ("thirty", "'thirty' is not a finite number."),  # nothing about limits
        ("1e300", "at most 1e+150"),
        ("<18", "is not a finite number"),
    ],
)
def test_a_number_that_is_none_is_told_how_to_write_it(value: str, said: str) -> None:
    text = '[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }\n[covariates.age]'
    with pytest.raises(InvalidInput) as refused:
        privatize_table(Study.parse(f'{text}\ntype = "number"'), pa.table({"q": ["no"], "age": [value]}))
    assert said in str(refused.value)


COMMAS = """
[study]
decimal = ","

[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = "5/6" }

[questions.income]
bounds = [0, 10]
channel = { design = "private-number", epsilon = 2 }

[questions.habits]
columns = ["drinks", "smokes"]
channel = { design = "laplace-noise", scale = 2, bounds = [0, 10] }

[covariates.age]
type = "number"
"""


def test_decimal_commas_are_read_where_the_study_says_so():
    study = Study.parse(COMMAS)
    assert Study.parse(study.to_toml()).to_toml() == study.to_toml()
    assert 'decimal = ","' in study.to_toml()
    table = {"cheated": ["no", "yes"], "income": ["1,5", "-0"], "drinks": ["1,25", "3"], "smokes": [0.5, 4]}
    release = privatize_table(study, table | {"age": [" 41,25", "1e1"]})
    assert release.to_table()["age"].to_pylist() == [41.25, 10.0]
    for age in ("41.25", "1.234,5", "1,234,5"):
        with pytest.raises(InvalidInput, match="column 'age', row 2"):
            privatize_table(study, table | {"age": ["40", age]})
    with pytest.raises(InvalidInput, match=r"'41,25' has a comma.*decimal = \",\" under \[study\]"):
        privatize_table(
            Study.parse(COMMAS.replace('decimal = ","', "")), table | {"income": [1, 2]} | {"age": ["41,25", "1"]}
        )
    with pytest.raises(InvalidInput, match="decimal = ';'"):
        Study.parse(COMMAS.replace('","', '";"'))
