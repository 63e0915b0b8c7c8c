"""Laws that every engine obeys. A test module gives a fixture ``engine`` and a class that inherits :class:`EngineLaws`.

The reference is always the local engine on the same rows in memory, in one piece: agreeing with it means that neither
the engine nor the way in which the rows are split makes a difference.
"""

from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.engines.privatizing import privatize_on
from askance.learning.face.release_records import NumericColumns, records_of
from askance.releases.header import Covariate, Header, Question
from askance.statistics.features import FeatureMoments

SPLITS = (1, 7, 100)
DESIGNS = ask.DesignPerRow({"cards": ask.Warner(0.8), "direct": ask.Identity()})
HOME = ask.PrivateRow({"rooms": (0, 9), "size": (0, 200), "value": (0, 9)}, 9.0, outcome="value")
HEADER = Header(
    (
        Question("cheated", ask.Warner(0.85)),
        Question("cigarettes", ask.RandomizedResponse([0, 1, 2], epsilon=2.0)),
        Question("tax", DESIGNS, design_column="group"),
        Question("home", HOME),
        Question("rent", ask.PrivateNumber(0, 100, epsilon=2.0)),
    ),
    (*(Covariate(name, "number") for name in ("age", "income", "w")), Covariate("school", "category")),
)
ROWS, LAST_PART = 6000, 600


# -- a survey, split ---------------------------------------------------------------------------------


@cache
def survey(rows: int = ROWS) -> pa.Table:
    """Reports to five questions. The school "island" occurs in the last rows only."""
    rng = np.random.default_rng(7)
    age = rng.uniform(18, 70, rows)
    income = rng.lognormal(1, 0.5, rows)
    school = np.append(rng.choice(["north", "south"], rows - LAST_PART), ["island", "south"] * (LAST_PART // 2))
    logit = (age - 40) / 15 + (school == "south") - 0.5 * (school == "island")
    yes = rng.random(rows) < 1 / (1 + np.exp(-logit))
    answers = np.where(yes, "yes", "no")
    group = rng.choice(["cards", "direct"], rows)
    cheated, cigarettes, tax, home, rent = (question.channel for question in HEADER.questions)
    rooms = rng.uniform(1, 8, rows)
    homes = np.column_stack([rooms, 20 * rooms + rng.uniform(-15, 15, rows), 1 + rooms + rng.uniform(-1, 0, rows)])
    return pa.table(
        {
            "cheated": cheated.simulate(answers, rng),
            "cigarettes": cigarettes.simulate(yes + rng.integers(0, 2, rows), rng),
            "tax": tax.simulate(answers, rng, group),
            "home": home.layout.to_arrow(home.simulate(homes, rng)),
            "rent": rent.layout.to_arrow(rent.simulate(age, rng)),
            "group": group,
            "age": age,
            "income": income,
            "w": rng.random(rows) + 0.5,
            "school": school,
        }
    )


def split_release(folder: Path, parts: int, table: pa.Table | None = None) -> Path:
    """Write a folder with this many uneven parts, as row groups of a few files, and an empty part among them."""
    table = ask.Release.from_table(survey() if table is None else table, HEADER).to_table()
    cuts = np.random.default_rng(parts).integers(0, table.num_rows - LAST_PART, max(parts - 2, 0))
    borders = [0, *sorted(cuts.tolist()), *([table.num_rows - LAST_PART] if parts > 1 else []), table.num_rows]
    pieces = [table.slice(start, stop - start) for start, stop in pairwise(borders)]
    pieces.insert(len(pieces) // 2, table.slice(0, 0))
    folder.mkdir()
    schema = table.schema.with_metadata(HEADER.to_metadata())
    for number in range(0, len(pieces), 8):
        with pq.ParquetWriter(folder / f"part-{number:03d}.parquet", schema) as file:
            for piece in pieces[number : number + 8]:
                file.write_table(piece.cast(schema))
    return folder


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """The survey on disk, once for each way to split it."""
    folder = tmp_path_factory.mktemp("survey")
    return {parts: ask.read_release(split_release(folder / str(parts), parts)) for parts in SPLITS}


# -- fits, each as the numbers that must agree -------------------------------------------------------


def _prevalence(release, engine, **arguments):
    fitted = ask.Prevalence().fit_release(release, engine, **arguments)
    return fitted.proportions_, fitted.covariance_


def _classifier(release, engine, method="marginal", covariance="auto", **arguments):
    fitted = ask.IndirectClassifier(method=method, covariance=covariance).fit_release(release, engine, **arguments)
    return fitted.parameters_, fitted.covariance_, np.array([fitted.n_reports_, fitted.log_likelihood_ or 0.0])


def _regressor(release, engine, **arguments):
    fitted = ask.IndirectRegressor(ridge=0.0).fit_release(release, engine, **arguments)
    return fitted.parameters_, fitted.covariance_, np.array([fitted.n_reports_, fitted.r_squared_])


_FORMULA = {"formula": "cheated ~ age + np.log(income) + C(school)"}
_COLUMNS = {"question": "cheated", "features": ["age", "income"]}
FITS = {
    "prevalence": lambda r, e: _prevalence(r, e, question="cheated"),
    "prevalence, weighted": lambda r, e: _prevalence(r, e, question="cheated", weight="w"),
    "prevalence, design per row": lambda r, e: _prevalence(r, e, question="tax"),
    "marginal": lambda r, e: _classifier(r, e, **_COLUMNS),
    "moments": lambda r, e: _classifier(r, e, "moments", **_COLUMNS),
    "marginal, formula": lambda r, e: _classifier(r, e, **_FORMULA),
    "moments, formula": lambda r, e: _classifier(r, e, "moments", **_FORMULA),
    "weighted": lambda r, e: _classifier(r, e, covariance="sandwich", weight="w", **_COLUMNS),
    "design per row": lambda r, e: _classifier(r, e, question="tax", features=["age"]),
    "hidden rows": lambda r, e: _regressor(r, e, formula="value ~ size", weight="w"),
    "hidden outcome": lambda r, e: _regressor(r, e, formula="rent ~ age + C(school)"),
    "three classes": lambda r, e: _classifier(r, e, question="cigarettes", features=["age"]),
}


# A whole fit takes seconds where a pass takes a tenth of one. Every fit is made of the release with most parts; of one
# part a fit of counts, one of scores and one of formulas, which together take all ways through an engine; of some parts
# one that takes counts, scores and formulas. Their single sums are compared below, for every split.
WHOLE_FITS = {1: ("prevalence", "weighted", "marginal, formula", "hidden rows"), 7: ("marginal, formula",), 100: FITS}
SPLIT_FITS = [(parts, fit) for parts in SPLITS for fit in WHOLE_FITS[parts]]


@cache
def reference(fit: str, rows: int = ROWS):
    """The numbers of the local engine on the rows in memory, in one piece."""
    return FITS[fit](ask.Release.from_table(survey(rows), HEADER), LocalEngine(threads=1))


def assert_same_numbers(found, expected):
    """Equal to 1e-9 relative: each estimate, and each matrix against its largest entry."""
    for ours, theirs in zip(found, expected, strict=True):
        slack = 1e-9 * np.abs(theirs).max() if theirs.ndim == 2 else 0.0
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=slack)


# -- folders that are no release, or cease to be one -------------------------------------------------


def _mixed_channels(folder: Path) -> None:
    other = Header((Question("cheated", ask.Warner(0.9)), *HEADER.questions[1:]), HEADER.covariates)
    ask.Release.from_table(survey(), other).write(folder / "part-900.parquet")


def _changed_schema(folder: Path) -> None:
    table = pq.read_table(folder / "part-000.parquet")
    ages = table["age"].cast(pa.string())
    changed = table.set_column(table.schema.get_field_index("age"), "age", ages)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), folder / "part-900.parquet")


def _truncated(folder: Path) -> None:
    whole = (folder / "part-000.parquet").read_bytes()
    (folder / "part-900.parquet").write_bytes(whole[: len(whole) // 2])


BAD_FOLDERS = {
    "mixed channels": (_mixed_channels, r"part-900\.parquet differs from that of part-000\.parquet"),
    "changed schema": (_changed_schema, r"column 'age' of .*part-900\.parquet has type string"),
    "truncated file": (_truncated, r"part-900\.parquet cannot be read as Parquet \(its end is missing\)"),
}


def damage_pages(path: Path) -> None:
    """Spoil the rows of a Parquet file and leave its footer as it is: it still opens, but does not read."""
    whole = bytearray(path.read_bytes())
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    whole[4:end] = b"\xff" * (end - 4)
    path.write_bytes(whole)


# -- true answers to be hidden -----------------------------------------------------------------------

STUDY = ask.Study.parse("""
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.6 }

[covariates.row]
type = "number"
""")
PIECE_ROWS = 12_500


def constant_answers(folder: Path) -> pa.Table:
    """100,000 people who all answer "no", as row groups of three Parquet files and one CSV file."""
    rows = 8 * PIECE_ROWS
    table = pa.table({"cheated": ["no"] * rows, "row": np.arange(float(rows)), "name": ["Ada"] * rows})
    folder.mkdir()
    for number in range(3):
        piece = table.slice(2 * number * PIECE_ROWS, 2 * PIECE_ROWS)
        pq.write_table(piece, folder / f"{number}.parquet", row_group_size=PIECE_ROWS)
    pa.csv.write_csv(table.slice(6 * PIECE_ROWS), folder / "3.csv")
    return table


def hidden_records(path: Path, parts: int, rows: int = 600) -> ask.Release:
    """Reports of records of two attributes and a label, in several files."""
    rng = np.random.default_rng(8)
    channel = ask.RowChannel(ask.StateFlip(3, 0.1, dim=2), ask.Warner(0.9))
    X = rng.integers(0, 3, (rows, 2))
    reports, labels = channel.simulate((X, np.where(X[:, 0] + rng.normal(size=rows) > 1, "yes", "no")), rng)
    header = Header((Question("x", channel.features), Question("y", channel.label)), ())
    path.mkdir()
    for number, some in enumerate(np.array_split(np.arange(rows), parts)):
        table = {"x": channel.features.store(channel.features.encode_reports(reports[some])), "y": labels[some]}
        ask.Release.from_table(table, header).write(path / f"{number}.parquet")
    return ask.read_release(path)


def sentences(folder: Path, parts: int) -> None:
    """Two words each, with tags that were hidden one by one, in part files."""
    rng = np.random.default_rng(8)
    words = [[str(rng.choice(["dog", "cat"])), str(rng.choice(["runs", "naps"]))] for _ in range(120)]
    channel = ask.PerToken(ask.RandomizedResponse(["N", "V"], epsilon=2.0))
    header = Header((Question("tags", channel),), (Covariate("words", "words"),))
    reports = channel.simulate([["N", "V"]] * 120, rng).tolist()
    table = pa.table({"tags": reports, "words": words})
    ask.Release.from_table(table, header).write(folder, rows_per_part=120 // parts)


class EngineLaws:
    """What holds for every engine, on real workers."""

    @pytest.mark.parametrize(("parts", "fit"), SPLIT_FITS)
    def test_the_estimate_does_not_depend_on_engine_or_split(self, engine, releases, parts, fit):
        expected = reference(fit)  # first: workers read the loops that are compiled here
        assert_same_numbers(FITS[fit](releases[parts], engine), expected)

    def test_a_look_at_large_data_leads_to_the_same_estimate(self, engine, tmp_path):
        rows = 140_000
        large = ask.read_release(split_release(tmp_path / "large", 7, survey(rows)))
        source = records_of(large, "cheated", NumericColumns(("age",)), None)
        looked_at = engine.reduce(FeatureMoments(1, True), engine.sample(source, 5000))
        assert 2500 <= looked_at.rows <= 10_000
        assert abs(looked_at.second[0, 1] / looked_at.rows - 44) < 1.5  # the mean age, ten standard errors wide
        # Another look is another start, and the solver promises to stop within 1e-6 standard errors of the maximum.
        expected, covariance, _ = reference("marginal", rows)
        errors = (FITS["marginal"](large, engine)[0] - expected) / np.sqrt(np.diag(covariance))
        assert np.abs(errors).max() < 2e-6

    @pytest.mark.parametrize("parts", SPLITS)
    def test_what_is_held_has_the_same_sums(self, engine, releases, parts):
        release = releases[parts]
        source = records_of(release, "cheated", NumericColumns(("age", "income")), "w")
        held = engine.cache(source)
        assert held.num_rows == sum(part.num_rows for part in held.partitions()) == release.num_rows
        statistic = FeatureMoments(2, True)
        found = engine.reduce(statistic, held)
        expected = LocalEngine().reduce(statistic, source)
        assert found.rows == expected.rows
        np.testing.assert_allclose(found.second, expected.second, rtol=1e-12)

    @pytest.mark.parametrize("options", [{"method": "enumerate"}, {"method": "collapsed", "ridge": 0.5}])
    def test_hidden_records_are_fitted_where_they_are(self, engine, tmp_path, options):
        release = hidden_records(tmp_path / "release", 3)
        here = ask.SpreadClassifier(**options).fit_release(release)
        there = ask.SpreadClassifier(**options).fit_release(str(tmp_path / "release"), engine)
        # Ridges of the intercept are estimated from some pairs of records in memory, and from all of them by sums.
        np.testing.assert_allclose(there.parameters_, here.parameters_, atol=1e-3 if there.ridge_ else 1e-9)
        assert there.n_reports_ == here.n_reports_

    def test_chains_are_fitted_where_their_sentences_are(self, engine, tmp_path):
        sentences(tmp_path / "release", 3)
        # A few steps tell as much as many: where they lead is the same, wherever the sums run.
        model = ask.IndirectModel(ask.Chain(["N", "V"], "words"), ridge=1.0, max_iter=4)
        fitted = []
        for where in ("local", engine):
            with pytest.warns(ask.AskanceWarning, match="stopped after 4"):
                fitted.append(clone(model).fit_release(tmp_path / "release", where))
        here, there = fitted
        np.testing.assert_allclose(there.parameters_, here.parameters_, atol=1e-6)
        np.testing.assert_allclose(there.standard_errors_, here.standard_errors_, rtol=1e-4)
        assert (there.n_tokens_, there.longest_) == (here.n_tokens_, here.longest_) == (240, 2)

    def test_a_release_without_rows_is_refused(self, engine, tmp_path):
        empty = ask.Release.from_table(survey().slice(0, 0), HEADER).write(tmp_path / "empty.parquet")
        with pytest.raises(ask.InvalidInput, match="no records"):
            ask.IndirectClassifier().fit_release(empty, engine, **_COLUMNS)

    def test_an_address_with_a_scheme_serves_as_well(self, engine, tmp_path):
        folder = split_release(tmp_path / "release", 2)
        assert_same_numbers(FITS["marginal"](folder.as_uri(), engine), reference("marginal"))

    # -- bad input -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("kind", BAD_FOLDERS)
    def test_a_folder_that_does_not_belong_together_is_refused_by_file(self, engine, tmp_path, kind):
        spoil, message = BAD_FOLDERS[kind]
        folder = split_release(tmp_path / "release", 2)
        spoil(folder)
        with pytest.raises(ask.ReleaseError, match=message):
            ask.Prevalence().fit_release(folder, engine, question="cheated")

    @pytest.mark.parametrize("spoil", [damage_pages, Path.unlink, lambda path: path.write_bytes(b"PAR1")])
    def test_a_file_that_spoils_after_opening_is_an_error_and_not_a_wrong_sum(self, engine, tmp_path, spoil):
        opened = ask.read_release(split_release(tmp_path / "release", 100))
        spoil(tmp_path / "release" / "part-008.parquet")
        with pytest.raises(ask.ReleaseError, match=r"part-008\.parquet cannot be read"):
            ask.Prevalence().fit_release(opened, engine, question="cheated")
        with pytest.raises(ask.ReleaseError, match=r"part-008\.parquet cannot be read"):
            ask.IndirectClassifier().fit_release(opened, engine, **_COLUMNS)

    def test_what_a_worker_finds_wrong_with_the_rows_comes_back_as_it_was_said(self, engine, tmp_path):
        header = Header((Question("cheated", ask.Warner(0.8)),), (Covariate("age", "number", missing=True),))
        table = pa.table({"cheated": ["no", "yes"] * 50, "age": [None, 30.0] * 50})
        release = ask.Release.from_table(table, header).write(tmp_path / "release", rows_per_part=10)
        with pytest.raises(ask.InvalidInput, match="values of 'age' are missing or not finite"):
            ask.IndirectClassifier().fit_release(release, engine, features=["age"])

    # -- privatising ---------------------------------------------------------------------------------

    def test_every_part_draws_entropy_of_its_own(self, engine, tmp_path):
        data = constant_answers(tmp_path / "data")
        done = privatize_on(engine, STUDY, tmp_path / "data", tmp_path / "release")
        assert done.dropped_columns == ("name",)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "release"]
        table = done.release.to_table()
        assert table["row"].equals(data["row"])  # every row once, in order, with its covariate

        parts = [part.read(["cheated"])["cheated"] for part in done.release.partitions()]
        reports = [pc.equal(part.cast(pa.string()), "yes").to_numpy().astype(np.int8) for part in parts]
        assert len(reports) == 7
        # 1 - p of them are "yes": each part within five standard errors, an error rate of 4e-6 in all.
        for part in reports:
            assert abs(part.mean() - 0.4) < 5 * np.sqrt(0.24 / len(part))
        # A stretch of one hundred reports occurs by chance in another part with probability 0.52^100 at each place.
        for one, other in [*combinations(reports, 2), *((b, a) for a, b in combinations(reports, 2))]:
            for start in range(0, 2000, 100):
                assert one[start : start + 100].tobytes() not in other.tobytes()
            agreeing = np.mean(one[:2000] == other[:2000])
            assert abs(agreeing - 0.52) < 6 * np.sqrt(0.25 / 2000)

    def test_a_fault_is_told_with_file_and_row_and_nothing_is_written(self, engine, tmp_path):
        constant_answers(tmp_path / "data")
        text = (tmp_path / "data" / "3.csv").read_text().splitlines(keepends=True)
        text[17] = text[17].replace("no", "maybe")
        (tmp_path / "data" / "3.csv").write_text("".join(text))
        with pytest.raises(ask.InvalidInput, match=r"column 'cheated', row 17 of 3\.csv: 'maybe' is not one of"):
            privatize_on(engine, STUDY, tmp_path / "data", tmp_path / "release")
        assert [path.name for path in tmp_path.iterdir()] == ["data"]

    def test_a_job_that_fails_leaves_nothing_behind(self, engine, tmp_path):
        constant_answers(tmp_path / "data")
        damage_pages(tmp_path / "data" / "1.parquet")
        with pytest.raises(ask.InvalidInput, match=r"1\.parquet cannot be read"):
            privatize_on(engine, STUDY, tmp_path / "data", tmp_path / "release")
        assert [path.name for path in tmp_path.iterdir()] == ["data"]

    def test_an_earlier_release_is_kept_when_a_job_fails(self, engine, tmp_path):
        constant_answers(tmp_path / "data")
        earlier = privatize_on(LocalEngine(), STUDY, tmp_path / "data", tmp_path / "release").release.to_table()
        with pytest.raises(ask.ReleaseError, match="exists already"):
            privatize_on(engine, STUDY, tmp_path / "data", tmp_path / "release")
        damage_pages(tmp_path / "data" / "1.parquet")
        with pytest.raises(ask.InvalidInput, match=r"1\.parquet"):
            privatize_on(engine, STUDY, tmp_path / "data", tmp_path / "release", overwrite=True)
        assert ask.read_release(tmp_path / "release").to_table().equals(earlier)
