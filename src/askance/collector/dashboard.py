"""The researchers' dashboard: how many answered and what they say so far; closing, exporting and deleting."""

import asyncio
import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from askance.collector.export import export_release
from askance.collector.keys import Keys
from askance.collector.questionnaire import Questionnaire
from askance.collector.static_files import static_version
from askance.collector.store import Standing, Store
from askance.collector.web import json_body, said
from askance.errors import AskanceError


class Dashboard:
    """Answers whoever has the key.

    Parameters
    ----------
    asked : Questionnaire
    open_store : callable
    keys : Keys
    """

    def __init__(self, asked: Questionnaire, open_store: Callable[[], Store], keys: Keys) -> None:
        self.asked = asked
        self.open_store = open_store
        self.keys = keys
        self._one_at_a_time = asyncio.Lock()  # estimates take a while: a dozen open dashboards share them
        self._last: tuple[Standing | None, dict[str, Any]] = (None, {})

    def routes(self) -> list[Route]:
        """Return the addresses of the dashboard."""
        return [
            Route("/dashboard", self.page, methods=["GET"]),
            Route("/dashboard/figures", self._with_key(self.figures), methods=["GET"]),
            Route("/dashboard/close", self._with_key(self.close), methods=["POST"]),
            Route("/dashboard/delete", self._with_key(self.delete), methods=["POST"]),
            Route("/dashboard/release", self._with_key(self.release), methods=["GET"]),
        ]

    def _with_key(self, answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def checked(request: Request) -> Response:
            kind, _, key = request.headers.get("authorization", "").partition(" ")
            if not self.keys.opens_dashboard(key if kind == "Bearer" else ""):
                return said(401, "the dashboard's key is wrong or missing", www_authenticate="Bearer")
            try:
                answered: Response = await answer(request)
            except AskanceError as error:  # a store that is away, or a study that still runs
                return said(409, str(error))
            return answered

        return checked

    async def page(self, request: Request) -> Response:
        """The page itself holds nothing: its script asks for figures with the key."""
        return HTMLResponse(_page(self.asked.study.title or self.asked.study.name or "study"))

    async def figures(self, request: Request) -> Response:
        """Counts and estimates."""
        async with self._one_at_a_time:
            return JSONResponse(await asyncio.to_thread(self._figures))

    def _figures(self) -> dict[str, Any]:
        # Estimators take seconds to load: the server starts, and starts again, without them.
        from askance.collector.figures import live_figures

        store = self.open_store()
        try:
            standing = store.standing()
            if standing != self._last[0]:
                self._last = standing, live_figures(self.asked, standing, store.tallies())
            return self._last[1]
        finally:
            store.disconnect()

    async def close(self, request: Request) -> Response:
        """Take no more responses, and unlink those there are."""
        await self._confirmed(request, "close")
        await asyncio.to_thread(self._with_store, lambda store: store.close_study())
        return JSONResponse({"closed": True})

    async def delete(self, request: Request) -> Response:
        """Forget everything."""
        await self._confirmed(request, "delete")
        await asyncio.to_thread(self._with_store, lambda store: store.delete_everything())
        return JSONResponse({"deleted": True})

    async def release(self, request: Request) -> Response:
        """The release of a closed study, as a file."""
        body = await asyncio.to_thread(self._with_store, self._exported)
        name = f"{''.join(letter for letter in self.asked.study.name if letter.isalnum()) or 'release'}.parquet"
        headers = {"content-disposition": f'attachment; filename="{name.encode("ascii", "ignore").decode()}"'}
        return Response(body, media_type="application/vnd.apache.parquet", headers=headers)

    def _exported(self, store: Store) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "release.parquet")
            export_release(self.asked, store, path, overwrite=False)
            return path.read_bytes()

    def _with_store(self, use: Callable[[Store], Any]) -> Any:
        store = self.open_store()
        try:
            return use(store)
        finally:
            store.disconnect()

    async def _confirmed(self, request: Request, word: str) -> None:
        body = await json_body(request)
        if not isinstance(body, dict) or body.get("confirm") != word:
            raise HTTPException(400)


def _page(title: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Dashboard: {escape(title)}</title>
<link rel="icon" href="static/{static_version()}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="static/{static_version()}/collector.css">
</head>
<body>
<main class="wide">
<h1>{escape(title)}</h1>
<noscript><p class="notice">The dashboard needs JavaScript.</p></noscript>
<form id="login" hidden>
<label class="label" for="key">Key of the dashboard</label>
<input type="password" id="key" autocomplete="off" aria-describedby="login-error">
<p class="error" id="login-error" role="alert" hidden></p>
<button type="submit">Open</button>
</form>
<div id="board" hidden>
<p id="state" class="notice" role="status"></p>
<dl id="counts"></dl>
<div id="figures"></div>
<section><h2>What to do with the study</h2>
<button id="refresh" class="second" type="button">Look again</button>
<button id="close" class="second" type="button">Close the study</button>
<button id="release" class="second" type="button">Download the release</button>
<button id="delete" class="danger" type="button">Delete everything</button>
<div id="confirm" class="panel" hidden><p id="confirm-text"></p>
<button id="confirm-yes" class="danger" type="button">Yes</button>
<button id="confirm-no" class="second" type="button">No</button></div>
<p class="error" id="problem" role="alert" hidden></p>
</section>
</div>
</main>
<script type="module" src="static/{static_version()}/dashboard.mjs"></script>
</body>
</html>
"""
