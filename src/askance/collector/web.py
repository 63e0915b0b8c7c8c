"""What every answer of the server has in common: headers, the shape of an error, and nothing about who asked."""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askance.collector.static_files import static_files, static_version

LARGEST_BODY = 32_768  # bytes: a response has a few hundred
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
BAD_BODY = {413: "the request is too large", 415: "the request is not application/json", 400: "this is not JSON"}
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), browsing-topics=()"),
    (b"cache-control", b"no-store"),
]


def said(status: int, words: str, outcome: str = "", **headers: str) -> JSONResponse:
    """Return the answer to a request that was refused: a sentence, and a word for scripts."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": words} | ({"outcome": outcome} if outcome else {}), status, headers=more)


async def http_error(request: Request, error: Exception) -> Response:
    """Answer what starlette refuses by itself: an unknown address, another method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is nothing here", 405: "this address takes another method"}.get(status, "refused")
    return said(status, words)


class Guard:
    """Puts headers on every answer, and turns a defect into one that says nothing of what was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = False

        async def with_headers(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in present)]
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            # Where, and of which kind: what an error says, and a trace with values, may be private.
            place = traceback.extract_tb(error.__traceback__)[-1]
            sys.stderr.write(
                f"askance: a defect: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}\n"
            )
            if not began:
                await said(500, "this is a defect of the server")(scope, receive, with_headers)


def guarded(routes: list[Route], lifespan: Any) -> Guard:
    """Return an application with these addresses."""
    handlers: Any = {HTTPException: http_error}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan))


def static_routes() -> list[Route]:
    """Return the addresses of scripts and styles."""
    return [
        Route("/static/{name}", _static, methods=["GET"]),
        Route("/static/{version}/{name}", _static, methods=["GET"]),
        Route("/favicon.ico", _icon, methods=["GET"]),  # browsers ask for it without being told to
    ]


async def _static(request: Request) -> Response:
    """A script or style of the pages."""
    # An address with the version never means anything else, and need not be asked for again.
    known = request.path_params.get("version") == static_version()
    return _file(request.path_params["name"], "public, max-age=604800, immutable" if known else "no-cache")


async def _icon(request: Request) -> Response:
    """The little picture of the tab."""
    return _file("icon.svg")


def _file(name: str, cache: str = "no-cache") -> Response:
    found = static_files().get(name)
    if found is None:
        raise HTTPException(404)
    return Response(found[0], media_type=found[1], headers={"cache-control": cache})


async def body_bytes(request: Request, most: int = LARGEST_BODY) -> bytes:
    """Return what a request carries; an HTTPException says what is wrong with it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413)
    return bytes(body)


async def json_body(request: Request) -> Any:
    """Return what a request says in JSON; an HTTPException says what is wrong with it."""
    return read_json(await body_bytes(request))


def read_json(body: bytes) -> Any:
    """Read JSON; an HTTPException says that it is none."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400) from None
