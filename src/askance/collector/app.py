"""The web application: a page for respondents, an address for their reports, and a dashboard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from askance.collector.dashboard import Dashboard
from askance.collector.keys import Keys
from askance.collector.questionnaire import LONGEST_TOKEN, Questionnaire, RefusedResponse
from askance.collector.rate_limit import RateLimit
from askance.collector.respondent_page import RespondentPage
from askance.collector.store import Outcome, Store, StoreUnavailable, Submission
from askance.collector.web import BAD_BODY, Guard, guarded, json_body, said, static_routes
from askance.collector.writer import LARGEST_BATCH, Writer

_SECONDS_TO_COME_BACK = "5"
_REFUSED = {
    Outcome.UNKNOWN: (409, "this invitation is not known"),
    Outcome.EXPIRED: (410, "this invitation is no longer valid"),
    Outcome.CLOSED: (410, "the study is closed"),
}


class Collector:
    """Answers requests about one study.

    Parameters
    ----------
    asked : Questionnaire
    open_store : callable
        Returns a new store, connected and of this study; the writer has one, and each look at the dashboard another.
    keys : Keys
    a_minute : int
        How many responses an address may send in a minute, in an open study; 0 for any number.
    largest_batch : int
    """

    def __init__(
        self,
        asked: Questionnaire,
        open_store: Callable[[], Store],
        keys: Keys,
        *,
        a_minute: int = 60,
        largest_batch: int = LARGEST_BATCH,
    ) -> None:
        self.asked = asked
        self.keys = keys
        self.open = asked.settings.access == "open"
        self.page = RespondentPage.of(asked)
        self.pages = {language: self.page.html(language) for language in self.page.texts}
        self.writer = Writer(open_store(), invited=not self.open, largest=largest_batch)
        self.limit = RateLimit(a_minute if self.open else 0)
        self.dashboard = Dashboard(asked, open_store, keys)

    def app(self) -> Guard:
        """Return the ASGI application."""
        routes = [
            Route("/", self.respondent, methods=["GET"]),
            *static_routes(),
            Route("/reports", self.reports, methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
            *self.dashboard.routes(),
        ]
        return guarded(routes, self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.writer.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.writer.stop)

    async def respondent(self, request: Request) -> Response:
        """The page, in the language that was asked for."""
        language = request.query_params.get("lang", "")
        if language not in self.pages:
            language = preferred(request.headers.get("accept-language", ""), list(self.pages))
        return HTMLResponse(self.pages[language], headers={"vary": "accept-language"})

    async def health(self, request: Request) -> Response:
        """Whether responses can be written."""
        return JSONResponse({"status": "ok"}) if self.writer.alive else said(503, "nobody writes")

    async def reports(self, request: Request) -> Response:
        """Take a response; answered once it is on disk."""
        if not self.limit.lets_through(request.client.host if request.client else ""):
            return said(429, "too many responses from this address", retry_after=_SECONDS_TO_COME_BACK)
        try:
            body = await json_body(request)
            cell = self.asked.cell(body)
            token = body["token"]
            if not isinstance(token, str) or not token.isascii() or not 16 <= len(token) <= LONGEST_TOKEN:
                # A token of another form was never given out.
                return said(409, _REFUSED[Outcome.UNKNOWN][1], Outcome.UNKNOWN.value)
            outcome = await self.writer.submit(Submission(self.keys.digest(token), cell))
        except ClientDisconnect:
            return Response(status_code=400)
        except RefusedResponse as error:
            return said(422, str(error), "refused")
        except StoreUnavailable:
            return said(503, "the response was not stored; send it again", retry_after=_SECONDS_TO_COME_BACK)
        except HTTPException as error:
            return said(error.status_code, BAD_BODY[error.status_code], "refused")
        if outcome is Outcome.STORED:
            return JSONResponse({"outcome": "stored"}, 201)
        if outcome is Outcome.SPENT:
            return JSONResponse({"outcome": "spent"}, 200)
        status, words = _REFUSED[outcome]
        return said(status, words, outcome.value)


def preferred(header: str, languages: list[str]) -> str:
    """Return the language that a browser likes best of those there are.

    Examples
    --------
    >>> preferred("fr;q=0.9, de-AT;q=0.8, en;q=0.1", ["en", "de"])
    'de'
    """
    liked = []
    for part in header.split(",")[:20]:
        code, _, weight = part.partition(";q=")
        try:
            liked.append((float(weight or 1), code.strip().lower()))
        except ValueError:
            continue
    for _, code in sorted(liked, key=lambda each: -each[0]):
        for language in languages:
            if language.lower() == code or language.lower().partition("-")[0] == code.partition("-")[0]:
                return language
    return languages[0]
