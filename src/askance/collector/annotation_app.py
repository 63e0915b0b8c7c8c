"""The annotators' page: shows windows to whoever has a link, and keeps what they count."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from askance.collector.annotation_store import AnnotationStore, ShownWindow
from askance.collector.annotation_task import AnnotationTask, Window
from askance.collector.keys import Keys
from askance.collector.questionnaire import LONGEST_TOKEN
from askance.collector.static_files import page_json, static_version
from askance.collector.store import StoreUnavailable
from askance.collector.web import BAD_BODY, Guard, guarded, json_body, said, static_routes
from askance.errors import InvalidInput

_FEW = 5  # windows compared: of fewer, an annotator would be told what somebody else said of one of them
_CONTEXT = 30  # words before and after a window: a sentence of a thousand is not shown whole


class AnnotationApp:
    """Answers annotators.

    Parameters
    ----------
    task : AnnotationTask
    store : AnnotationStore
    keys : Keys
    """

    def __init__(self, task: AnnotationTask, store: AnnotationStore, keys: Keys) -> None:
        self.task = task
        self.store = store
        self.keys = keys
        self.html = annotator_html(task)

    def app(self) -> Guard:
        """Return the ASGI application."""
        routes = [
            Route("/", self.page, methods=["GET"]),
            *static_routes(),
            Route("/windows", self._with_link(self.windows), methods=["GET"]),
            Route("/counts", self._with_link(self.counts), methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
        ]
        return guarded(routes, self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(self.store.close)

    def _with_link(self, answer: Callable[[Request, int], Any]) -> Callable[[Request], Any]:
        async def checked(request: Request) -> Response:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            known = kind == "Bearer" and token.isascii() and 16 <= len(token) <= LONGEST_TOKEN
            try:
                found = await asyncio.to_thread(self.store.annotator, self.keys.digest(token)) if known else None
                if found is None:
                    return said(401, "this link is not known", "stranger", www_authenticate="Bearer")
                answered: Response = await answer(request, found)
            except ClientDisconnect:
                return Response(status_code=400)
            except StoreUnavailable:
                return said(503, "the counts were not stored; send them again", retry_after="5")
            except InvalidInput as error:
                return said(422, str(error), "refused")
            except HTTPException as error:
                return said(error.status_code, BAD_BODY.get(error.status_code, "refused"), "refused")
            return answered

        return checked

    async def page(self, request: Request) -> Response:
        """The page holds no sentence: its script asks for windows with the link."""
        return HTMLResponse(self.html)

    async def health(self, request: Request) -> Response:
        """Whether the file can be read."""
        try:
            await asyncio.to_thread(self.store.progress)
        except Exception:  # whatever it is: somebody must look at it
            return said(503, "the file of counts cannot be read")
        return JSONResponse({"status": "ok"})

    async def windows(self, request: Request, annotator: int) -> Response:
        """The windows that come next, and the last ones, to go back to."""
        return JSONResponse(await asyncio.to_thread(self._windows, annotator))

    def _windows(self, annotator: int) -> dict[str, Any]:
        ahead, earlier = self.store.ahead(annotator), self.store.earlier(annotator)
        return self._standing(annotator) | {
            "ahead": [self._shown(one) for one in ahead],
            "earlier": [self._shown(one) for one in earlier],
        }

    async def counts(self, request: Request, annotator: int) -> Response:
        """Take counts, or that a window was skipped; answered once that is on disk."""
        body = await json_body(request)
        if not isinstance(body, dict) or set(body) != {"task", "window", "counts"}:
            raise InvalidInput("a body with other entries than the page sends", "task, window and counts")
        if body["task"] != self.task.digest:
            return said(409, "these counts belong to another task", "other_task")
        number, counts = body["window"], body["counts"]
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**62:
            raise InvalidInput("a window that there is not", "its number")

        def checked(window: Window) -> dict[str, int] | None:
            return None if counts is None else self.task.checked(window, counts)

        first, ahead = await asyncio.to_thread(self.store.answer, annotator, number, checked)
        standing = await asyncio.to_thread(self._standing, annotator)
        shown = {"ahead": [self._shown(one) for one in ahead]}
        return JSONResponse(standing | shown, 201 if first else 200)

    def _standing(self, annotator: int) -> dict[str, Any]:
        progress = self.store.progress(annotator)
        windows, same = self.store.agreement(annotator)
        counts = {"mine": progress.mine, "counted": progress.counted, "wanted": progress.wanted}
        return counts | {"agreement": None if windows < _FEW else {"same": same, "windows": windows}}

    def _shown(self, shown: ShownWindow) -> dict[str, Any]:
        window, words = shown.window, self.task.sentences[shown.window.sentence]
        end = window.start + window.width
        return {
            "number": shown.number,
            "before": list(words[max(0, window.start - _CONTEXT) : window.start]),
            "words": list(words[window.start : end]),
            "after": list(words[end : end + _CONTEXT]),
            "cut": [window.start > _CONTEXT, len(words) > end + _CONTEXT],
            "tags": list(window.tags or self.task.channel.tags),
            "counts": shown.counts,
        }


def annotator_html(task: AnnotationTask) -> str:
    """Return the page, without a window."""
    words, version = task.words, static_version()
    instructions = "".join(f"<p>{escape(part)}</p>\n" for part in (task.instructions, words["how"]) if part)
    definition = {"task": task.digest, "tags": len(task.channel.tags), "describe": dict(task.describe)}
    return f"""<!doctype html>
<html lang="{escape(task.language)}" dir="{"rtl" if words.get("direction") == "rtl" else "ltr"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{escape(task.title)}</title>
<link rel="icon" href="static/{version}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="static/{version}/collector.css">
</head>
<body>
<main>
<h1>{escape(task.title)}</h1>
<noscript><p class="notice">{escape(words["no_script"])}</p></noscript>
<div id="app" hidden>
{instructions}<section id="notice" hidden><h2 tabindex="-1" class="notice" id="notice-text"></h2></section>
<section id="work" hidden>
<h2 tabindex="-1" id="heading"></h2>
<p id="sentence" class="sentence" dir="auto"></p>
<p id="total" class="odds" role="status"></p>
<ul id="tags" class="tags"></ul>
<p id="error" class="error" role="alert" hidden></p>
<div class="row">
<button id="undo" class="second" type="button">{escape(words["undo"])}</button>
<button id="skip" class="second" type="button">{escape(words["skip"])}</button>
<button id="next" type="button">{escape(words["next"])}</button>
</div>
<label class="choice"><input type="checkbox" id="keys">{escape(words["keys"])}</label>
</section>
<p id="state" role="status"></p>
<button id="retry" type="button" hidden>{escape(words["retry"])}</button>
<p id="progress"></p>
<p id="agreement"></p>
</div>
</main>
<script id="definition" type="application/json">{page_json(definition)}</script>
<script id="words" type="application/json">{page_json(dict(words))}</script>
<script type="module" src="static/{version}/annotator.mjs"></script>
</body>
</html>
"""
