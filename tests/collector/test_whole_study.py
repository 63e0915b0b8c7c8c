"""A whole study by command line and browser: new, plan, invite, serve, 200 people, close and export, fit, report."""

import json
import random

import pytest

from askance.cli.app import main
from collector_study import ServerProcess, links_of

TOML = """
[study]
name = "exams"
[questions.cheated]
text = "Have you ever cheated in an exam?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.9 }
[covariates.school]
type = "category"
levels = ["north", "south"]
"""
PEOPLE = 200
# One person: consent, skip the try-out, answer, press; done when the page says that the answer has arrived.
ANSWER = """async ([cheated, school]) => {
    const by = (id) => document.getElementById(id);
    by("agree").click();
    by("go-on").click();
    document.querySelector(`[data-kind=question] input[value='${cheated}']`).click();
    document.querySelector(`[data-kind=covariate] input[value='${school}']`).click();
    by("send").click();
    for (let i = 0; i < 6000; i += 1) {
        if (by("sent-state").textContent === "Your answer has arrived.") return true;
        await new Promise((go) => setTimeout(go, 10));
    }
    return by("sent-state").textContent;
}"""


@pytest.mark.xdist_group("browser")
def test_a_whole_study(run, tmp_path, browser, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, _ = run(
        "new", "study.toml", "--title", "Cheating", "--question", "cheated=Have you ever cheated in an exam?",
        "--choices", "no,yes", "--design", "warner", "--parameters", "p=0.9", "--covariate", "school=north,south",
        "--yes",
    )  # fmt: skip
    assert code == 0
    code, planned, _ = run(
        "plan", "prevalence", "--prevalence", 0.4, "--design", "warner p=0.9", "-n", PEOPLE, "--json"
    )
    assert code == 0
    assert json.loads(planned)
    people = random.Random(4)
    with ServerProcess(tmp_path) as server:
        code, invited, _ = run("invite", "study.toml", "--count", PEOPLE, "--address", server.address)
        tokens = links_of(invited)
        assert (code, len(set(tokens))) == (0, PEOPLE)
        context = browser.new_context()
        page = context.new_page()
        truth = 0
        for number, token in enumerate(tokens):
            cheated = int(people.random() < 0.4)
            truth += cheated
            page.goto(f"{server.address}?person={number}#{token}", wait_until="domcontentloaded")
            assert page.evaluate(ANSWER, [cheated, people.randrange(2)]) is True
        context.close()
        code, _, refused = run("export", "study.toml", "--out", "release.parquet")
        assert (code, "Close it first" in refused) == (2, True)
        code, _, _ = run("export", "study.toml", "--out", "release.parquet", "--close")
        assert code == 0
        code, out, _ = run("invite", "study.toml", "--count", 1)
        assert (code, out) == (2, "")
        server.stop()
    assert "#" + tokens[0] not in server.said
    dossier = (tmp_path / "release.dossier.html").read_text(encoding="utf-8")
    assert "own device" in dossier
    assert "200" in dossier
    code, fitted, _ = run("fit", "release.parquet", "--json", "--report", "report.html")
    assert code == 0
    estimate = json.loads(fitted)["prevalence"]["estimates"]["yes"]
    # The share of these 200 people: Warner's design adds a standard error of .027, and six of them are missed once in
    # 1e9 runs.
    assert abs(estimate["estimate"] - truth / PEOPLE) < 6 * 0.027
    assert estimate["lower"] < estimate["estimate"] < estimate["upper"]
    assert "Cheat" in (tmp_path / "report.html").read_text(encoding="utf-8") or "cheat" in fitted
    code, _, _ = run("verify", "release.parquet")
    assert code == 0


def refused(run, *words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    return err


def test_a_study_that_nobody_answered_is_not_closed_by_an_export(run, tmp_path, monkeypatch):
    # Closing is for ever: whoever walks through the commands before the field opens would have to start anew.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    assert run("invite", "study.toml", "--count", 1)[0] == 0
    said = refused(run, "export", "study.toml", "--out", "release.parquet", "--close")
    assert "no reports" in said
    assert "was not closed" in said
    assert run("invite", "study.toml", "--count", 1)[0] == 0


def test_mistakes_are_answered_with_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "study.toml"
    study.write_text(TOML, encoding="utf-8")
    assert "there is no study file" in refused(run, "serve", "nowhere.toml")
    assert "no responses at" in refused(run, "export", "study.toml", "--out", "r.parquet")
    assert "a day such as" in refused(run, "invite", "study.toml", "--count", 1, "--expires", "tomorrow")
    assert "such as https" in refused(run, "invite", "study.toml", "--count", 1, "--address", "study.example.org")
    assert "is no SQLite database" in refused(run, "invite", "study.toml", "--count", 1, "--store", "study.toml")
    (tmp_path / "study.keys.json").write_text("{}")
    assert "does not hold the keys" in refused(run, "invite", "study.toml", "--count", 1)
    (tmp_path / "study.keys.json").unlink()
    for wrong, said in [
        ('[page]\nacess = "open"\n', "Did you mean 'access'"),
        ('[page]\naccess = "public"\n', '"invited" or "open"'),
        ('[page]\nlanguages = ["de"]\n', "no text"),
        ('[page]\npaper = ["tax"]\n', "names of questions"),
        ('[page.check]\ncolumn = "school"\nright = 1\n', "has no check"),
        ('[page.duration]\ncolumn = "pace"\nseconds = [60]\n', "a covariate with 2 levels"),
        ("[page.assign.group]\ncards = 1\n", "unknown key 'group'"),
        ("[page.texts.en.words]\nsend = 7\n", "text in quotes"),
        ('[page.texts.en.words]\nodds_same = "{nothing}"\n', "{many}, {all}"),
    ]:
        said_wrong = TOML.replace("text =", "#text =") if "languages" in wrong else TOML
        study.write_text(wrong + said_wrong, encoding="utf-8")
        assert said in refused(run, "serve", "study.toml", "--port", 0), wrong
    study.write_text('[page]\naccess = "open"\n' + TOML, encoding="utf-8")
    assert "Anybody may answer" in refused(run, "invite", "study.toml", "--count", 1)


def test_the_keys_are_for_their_owner_only(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    code, out, err = run("invite", "study.toml", "--count", 2, "--expires", "2030-01-31")
    assert code == 0
    assert "keep the file secret" in err
    assert (tmp_path / "study.keys.json").stat().st_mode & 0o777 == 0o600
    code, listed, _ = run("invite", "study.toml", "--count", 2, "--json")
    assert (code, len(links_of("\n".join(json.loads(listed)["links"])))) == (0, 2)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("study.responses*"))
    assert not any(token.encode() in stored for token in links_of(out))


def test_the_page_s_table_survives_being_written_down():
    from askance import Study

    text = '[page]\naccess = "open"\n[page.texts.en]\nconsent = "Yes?"\n' + TOML
    study = Study.parse(text)
    assert Study.parse(study.to_toml()) == study
    assert main


def test_a_design_with_a_question_that_only_people_can_answer_is_for_paper(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unknown = TOML.replace(
        'design = "warner", p = 0.9', 'design = "unrelated-question", p = 0.7, prevalence = "unknown"'
    )
    (tmp_path / "study.toml").write_text(unknown, encoding="utf-8")
    assert "[page] paper = ['cheated']" in refused(run, "serve", "study.toml", "--port", 0)


def test_the_responses_are_for_their_owner_only(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    run("invite", "study.toml", "--count", 1)
    for path in tmp_path.glob("study.responses*"):
        assert path.stat().st_mode & 0o777 == 0o600
