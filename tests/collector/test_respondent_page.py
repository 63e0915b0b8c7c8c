"""The respondent's page in a real browser: nothing but the report leaves, nothing before the press, drawn once."""

import json
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from askance.collector.app import Collector
from askance.collector.keys import Keys, new_token
from askance.collector.questionnaire import Questionnaire
from askance.collector.stores import store_at
from askance.collector.web import POLICY, Guard
from askance.releases.study import Study
from collector_study import STUDY, questionnaire

pytestmark = pytest.mark.xdist_group("browser")

SEVERAL = """
[study]
title = "Taxes"
[page]
access = "open"
paper = ["tax"]
[page.assign.group]
cards = 1
anchor = 1
direct = 1
[page.duration]
column = "pace"
seconds = [3600]
[page.check]
column = "understood"
right = 2
[page.texts.en]
check = "What does your device send?"
check_choices = ["always the truth", "sometimes another answer"]
[page.texts.en.questions.tax]
instructions = { cards = "Draw a card: black, say the truth; red, say the opposite.", anchor = "Draw a card." }
asked = { anchor = "Were you born on the moon?" }
[questions.tax]
text = "Did you pay too little tax?"
choices = ["no", "yes"]
design_column = "group"
designs.cards = { design = "warner", p = 0.7 }
designs.anchor = { design = "anchor", device = { design = "warner", p = 0.7 } }
designs.direct = { design = "identity" }
[covariates.pace]
type = "category"
levels = ["quick", "slow"]
[covariates.understood]
type = "category"
levels = ["yes", "no"]
[covariates.town]
type = "category"
missing = true
"""


class Visit:
    """A page, with everything that it asked for and every error that it had."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: line.type == "error" and self.errors.append(line.text))
        self.page.goto(address)

    @property
    def posts(self):
        return [request for request in self.requests if request.method != "GET"]

    def kept(self):
        return json.loads(self.page.evaluate("JSON.stringify({...localStorage})"))

    def violations(self):
        return [f"{v['id']}: {[n['html'] for n in v['nodes']]}" for v in Axe().run(self.page).response["violations"]]

    def to_questions(self):
        self.page.click("#agree")
        if self.page.is_visible("#go-on"):
            self.page.click("#go-on")

    def answer(self, cheated=1, drugs=2):
        self.page.check(f"[data-kind=question][data-number='0'] input[value='{cheated}']")
        self.page.check(f"[data-kind=question][data-number='1'] input[value='{drugs}']")
        self.page.fill("#v-covariate-0", "31")

    def sent_state(self):
        return self.page.inner_text("#sent-state")


class Site:
    def __init__(self, address, asked, keys, tokens, open_store):
        self.address, self.asked, self.keys, self.tokens, self.open_store = address, asked, keys, tokens, open_store
        self.link = f"{address}#{tokens[0]}"

    def cells(self):
        store = self.open_store()
        cells = store.cells()
        store.disconnect()
        return cells


@pytest.fixture
def site(serving, tmp_path):
    return make_site(serving, tmp_path, STUDY)


def make_site(serving, folder, text, wrap=lambda app: app):
    asked = Questionnaire(Study.parse(text))
    keys, tokens = Keys.new(), [new_token() for _ in range(3)]
    open_store = lambda: store_at(str(folder / "r.sqlite")).open_for(asked.digest)  # noqa: E731
    store = open_store()
    if asked.settings.access == "invited":
        store.invite(map(keys.digest, tokens), None)
    store.disconnect()
    return Site(serving(wrap(Collector(asked, open_store, keys).app())), asked, keys, tokens, open_store)


@pytest.fixture
def visit(browser):
    opened = []

    def go(address, **options):
        opened.append(Visit(browser, address, **options))
        return opened[-1]

    yield go
    for each in opened:
        each.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_from_consent_to_the_report_nothing_else_leaves(site, visit, width, scheme):
    seen = visit(site.link, viewport={"width": width, "height": 700}, color_scheme=scheme)
    page = seen.page
    assert "8 of 10 times your device sends your true answer." in page.inner_text("#how")
    assert seen.violations() == []
    page.click("#agree")
    page.click("#try-draw")
    assert "Choose an answer first." in page.inner_text("#try-draws")
    page.click("#try-choices label >> nth=0")
    for _ in range(30):
        page.click("#try-draw")
    draws = page.inner_text("#try-draws")
    assert "Draw 30:" in draws
    assert len(re.findall("“(no|yes)”", draws)) == 30
    assert seen.violations() == []
    page.click("#go-on")
    page.click("#send")  # nothing is answered yet
    assert page.is_visible("#questions")
    assert page.evaluate("document.activeElement.name") == "q0-question-0"
    assert seen.violations() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.posts == []  # nothing before the press
    seen.answer()
    truth_before = len(seen.requests)
    page.click("#send")
    page.wait_for_selector("#sent-state:has-text('arrived')")
    assert seen.violations() == []
    # Exactly one request after the press, to our own server, and it is the report.
    assert [request.url for request in seen.requests[truth_before:]] == [f"{site.address}reports"]
    assert all(request.url.startswith(site.address) for request in seen.requests)
    body = seen.posts[0].post_data_json
    assert set(body) == {"study", "token", "designs", "reports", "covariates"}
    assert "cookie" not in {name.lower() for name in seen.posts[0].all_headers()}
    assert "referer" not in {name.lower() for name in seen.posts[0].all_headers()}
    assert site.cells() == [site.asked.cell(body)]
    assert page.inner_text("#sent-list dd >> nth=0") == ("no", "yes")[body["reports"]["cheated"]]
    assert not page.query_selector("form")  # the true answers are gone
    assert seen.errors == []


def test_twenty_reloads_and_going_back_never_draw_again(site, visit):
    seen = visit(site.link)
    seen.to_questions()
    seen.answer()
    seen.page.dblclick("#send")
    seen.page.wait_for_selector("#sent-state:has-text('arrived')")
    kept = seen.kept()
    shown = seen.page.inner_text("#sent-list")
    for _ in range(20):
        seen.page.reload()
        assert seen.page.inner_text("#sent-list") == shown
    seen.page.goto(f"{site.address}health")
    seen.page.go_back()
    assert seen.page.inner_text("#sent-list") == shown
    assert seen.kept() == kept
    assert len(seen.posts) == 1
    assert len(site.cells()) == 1
    assert seen.errors == []


def test_without_a_connection_the_drawn_report_waits_and_is_sent_unchanged(site, visit):
    seen = visit(site.link)
    seen.to_questions()
    seen.answer()
    seen.context.set_offline(True)
    seen.page.click("#send")
    seen.page.wait_for_selector("#sent-state:has-text('no connection')")
    assert seen.violations() == []
    first = seen.posts[0].post_data
    assert site.cells() == []
    seen.context.set_offline(False)
    seen.page.reload()
    seen.page.wait_for_selector("#sent-state:has-text('arrived')")
    assert {post.post_data for post in seen.posts} == {first}
    assert site.cells() == [site.asked.cell(json.loads(first))]


def test_an_answer_that_was_lost_on_the_way_back_is_not_drawn_again(site, visit):
    seen = visit(site.link)
    seen.to_questions()
    seen.answer()

    def lose(route):
        route.fetch()
        route.abort()

    seen.page.route("**/reports", lose)
    seen.page.click("#send")
    seen.page.wait_for_selector("#sent-state:has-text('no connection')")
    assert len(site.cells()) == 1
    seen.page.unroute("**/reports")
    seen.page.click("#retry")
    seen.page.wait_for_selector("#sent-state:has-text('has arrived.')")
    assert len({post.post_data for post in seen.posts}) == 1
    assert len(site.cells()) == 1


def test_an_invitation_used_on_another_device_is_said_to_be_used(site, visit):
    for expected in ("has arrived.", "arrived before"):
        seen = visit(site.link)
        seen.to_questions()
        seen.answer()
        seen.page.click("#send")
        seen.page.wait_for_selector(f"#sent-state:has-text('{expected}')")
    assert not seen.page.is_visible("#sent-list")
    assert len(site.cells()) == 1


@pytest.mark.parametrize(
    ("fragment", "words"), [("", "you need an invitation"), ("#not%20one", "you need an invitation")]
)
def test_without_an_invitation_nothing_is_asked(site, visit, fragment, words):
    seen = visit(site.address + fragment)
    assert words in seen.page.inner_text("#notice")
    assert not seen.page.is_visible("#how")
    assert seen.violations() == []


def test_the_check_of_accessibility_would_notice_something(site, visit):
    seen = visit(site.link)
    seen.page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert any(violation.startswith("label") for violation in seen.violations())


def test_an_unknown_invitation_is_told_so(site, visit):
    seen = visit(f"{site.address}#{new_token()}")
    seen.to_questions()
    seen.answer()
    seen.page.click("#send")
    seen.page.wait_for_selector("#sent-state:has-text('not known')")
    assert site.cells() == []


def test_the_page_speaks_german_and_keeps_the_invitation(site, visit):
    seen = visit(site.link, locale="de-DE")
    assert "In 8 von 10 Fällen sendet Ihr Gerät Ihre wahre Antwort." in seen.page.inner_text("#how")
    assert seen.page.get_attribute("html", "lang") == "de"
    seen.page.click("nav a[lang=en]")
    seen.page.wait_for_selector("text=8 of 10 times")
    assert seen.page.url.endswith(f"#{site.tokens[0]}")
    assert seen.violations() == []


def test_a_page_without_javascript_says_what_it_needs(site, visit):
    seen = visit(site.link, java_script_enabled=False)
    assert "needs JavaScript" in seen.page.inner_text("main")
    assert not seen.page.is_visible("#app")


def test_a_browser_that_keeps_nothing_is_not_asked(site, browser):
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page = context.new_page()
    page.goto(site.link)
    assert "keeps nothing" in page.inner_text("#notice")
    context.close()


def test_tables_that_do_not_add_up_draw_nothing(site, browser):
    context = browser.new_context()
    page = context.new_page()

    def spoiled(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r'"(\d{18,})"', '"1"', answer.text(), count=1))

    page.route(site.address, spoiled)
    page.goto(site.link)
    assert "do not add up" in page.inner_text("#notice")
    context.close()


def test_the_whole_way_goes_by_keyboard(site, visit):
    seen = visit(site.link)
    keys = seen.page.keyboard

    def tab_to(wanted):
        for _ in range(30):
            keys.press("Tab")
            if seen.page.evaluate("document.activeElement.id || document.activeElement.name") == wanted:
                return
        pytest.fail(f"the keyboard never reached {wanted}")

    tab_to("agree")
    keys.press("Enter")
    tab_to("go-on")
    keys.press("Enter")
    tab_to("q0-question-0")
    keys.press("ArrowDown")
    tab_to("q0-question-1")
    keys.press("Space")
    tab_to("v-covariate-0")
    keys.type("44,5")
    keys.press("Enter")
    seen.page.wait_for_selector("#sent-state:has-text('arrived')")
    assert seen.posts[0].post_data_json["covariates"] == {"age": 44.5, "school": None}


HOSTILE = "<script>window.hacked = 1</script><img src=//evil.example/x onerror=alert(1)>"


def test_texts_of_a_study_are_texts(serving, tmp_path, visit):
    text = STUDY.replace("A study of the University of Example.", HOSTILE)
    text = text.replace(
        '"Have you ever cheated in an exam?"', json.dumps(HOSTILE + "</script><script>hacked=2</script>")
    )
    site = make_site(serving, tmp_path, text)
    seen = visit(site.link)
    assert HOSTILE in seen.page.inner_text("main")
    assert seen.page.evaluate("window.hacked") is None
    assert all(request.url.startswith(site.address) for request in seen.requests)


class Careless:
    """The same server with a page that somebody has put a foreign picture and a script into."""

    def __init__(self, app, policy):
        self.app, self.policy = app, policy

    async def __call__(self, scope, receive, send):
        async def spoiled(message):
            if message["type"] == "http.response.start" and scope["path"] == "/":
                message["headers"] = [
                    (name, self.policy if name == b"content-security-policy" else value)
                    for name, value in message["headers"]
                    if name != b"content-length"
                ]
            if message["type"] == "http.response.body" and scope["path"] == "/":
                more = b"<img src='http://127.0.0.1:9/leak'><script>window.leaked = 1</script></body>"
                message["body"] = message["body"].replace(b"</body>", more)
            await send(message)

        await self.app(scope, receive, spoiled)


@pytest.mark.parametrize("policy", [POLICY, "default-src * 'unsafe-inline'"])
def test_the_policy_stops_what_it_should_and_only_the_policy(serving, tmp_path, visit, policy):
    """The control: without the policy the same page leaks, so that the test would see a leak."""
    site = make_site(serving, tmp_path, STUDY, wrap=lambda app: Careless(app, policy.encode()))
    seen = visit(site.link)
    seen.page.wait_for_timeout(200)
    stopped = policy == POLICY
    assert (seen.page.evaluate("window.leaked ?? null") is None) == stopped
    blocked = [error for error in seen.errors if "Content Security Policy" in error]
    assert bool(blocked) == stopped


# -- paper, several designs, a direct arm, checks ---------------------------------------------------------------------


def test_people_are_assigned_a_design_once_and_each_sees_its_own(serving, tmp_path, visit):
    site = make_site(serving, tmp_path, SEVERAL)
    groups = set()
    for _ in range(40):  # one of three designs is missed once in three million runs
        seen = visit(site.address)
        page = seen.page
        how = page.inner_text("#how")
        page.reload()
        assert page.inner_text("#how") == how  # not assigned anew
        seen.to_questions()
        assert not page.is_visible("#try")
        question = page.inner_text("[data-kind=question] legend")
        marks = page.inner_text("[data-kind=question] .mark")
        page.check("[data-kind=question] input[value='1']")
        page.check("[data-kind=check] input[value='1']")
        page.click("#send")
        page.wait_for_selector("#sent-state:has-text('arrived')")
        body = seen.posts[0].post_data_json
        group = ["cards", "anchor", "direct"][body["designs"]["group"]]
        groups.add(group)
        assert body["reports"] == {"tax": 1}  # on paper the page draws nothing; asked directly, neither
        assert body["covariates"] == {"pace": 0, "understood": 0, "town": None}
        assert ("born on the moon" in question) == (group == "anchor")
        assert marks == ("Sent as it is" if group == "direct" else "Hidden by yourself")
        if group == "direct":
            assert "sent as it is. It is not hidden" in how
        if len(groups) == 3:
            break
        seen.context.clear_cookies()
    assert groups == {"cards", "anchor", "direct"}
    assert seen.violations() == []
    rows = [site.asked.row(cell) for cell in site.cells()]
    assert {row["group"] for row in rows} == groups
    assert {row["understood"] for row in rows} == {"yes"}


RTL = """
[page]
languages = ["en", "ar"]
[page.texts.ar]
direction = "rtl"
title = "الغش"
questions.cheated = { text = "هل غششت؟", choices = ["لا", "نعم"] }
[questions.cheated]
text = "Have you ever cheated?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
"""


def test_another_language_brings_all_its_words_and_its_direction(serving, tmp_path, visit):
    from askance.collector.texts import known_words
    from askance.errors import InvalidInput

    english = {name: word for name, word in known_words("respondent")["en"].items() if name != "direction"}
    words = "[page.texts.ar.words]\n" + "".join(
        f"{name} = {json.dumps('ع ' + word)}\n" for name, word in english.items()
    )
    with pytest.raises(InvalidInput, match="lacks the words name, heading_how"):
        Collector(questionnaire(RTL), lambda: None, Keys.new())
    site = make_site(serving, tmp_path, RTL.replace("[questions.cheated]", f"{words}[questions.cheated]"))
    seen = visit(f"{site.address}?lang=ar#{site.tokens[0]}")
    assert seen.page.get_attribute("html", "dir") == "rtl"
    assert seen.violations() == []
    assert "ع 8 of 10 times" in seen.page.inner_text("#how")


def test_every_word_of_the_page_is_in_the_documentation_and_in_every_language():
    from importlib.resources import files

    from askance.collector.texts import known_words

    documentation = Path(__file__).parents[2] / "docs" / "collector.md"
    for page in ("respondent", "annotator"):
        english = files("askance.collector").joinpath("words", f"{page}.en.toml").read_text(encoding="utf-8")
        assert f"```text\n{english}```" in documentation.read_text(encoding="utf-8")
        assert {frozenset(words) for words in known_words(page).values()} == {frozenset(known_words(page)["en"])}


# -- the dashboard ---------------------------------------------------------------------------------------------------


def test_the_dashboard_in_a_browser(serving, tmp_path, visit):
    from askance.collector.store import Submission

    site = make_site(serving, tmp_path, STUDY)
    store = site.open_store()
    batch = [Submission(site.keys.digest(f"{n:022d}"), f"[{n % 2},{n % 3},{20 + n % 4}.0,null]") for n in range(40)]
    store.take(batch, invited=False)
    store.disconnect()
    seen = visit(f"{site.address}dashboard", viewport={"width": 320, "height": 700})
    page = seen.page
    assert seen.violations() == []
    page.fill("#key", "wrong")
    page.click("button[type=submit]")
    page.wait_for_selector("text=This is not the key.")
    page.fill("#key", site.keys.dashboard)
    page.click("button[type=submit]")
    page.wait_for_selector("table >> nth=2")
    assert "40" in page.inner_text("#counts")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert seen.violations() == []
    page.click("#close")
    page.click("#confirm-yes")
    page.wait_for_selector("text=The study is closed.")
    with page.expect_download() as download:
        page.click("#release")
    from askance import read_release

    path = tmp_path / "got.parquet"
    download.value.save_as(path)
    assert read_release(path).num_rows == 40
    assert not any("Content Security" in error for error in seen.errors)


def test_the_guard_is_what_serves():
    assert isinstance(Collector(questionnaire(), lambda: None, Keys.new()).app(), Guard)
