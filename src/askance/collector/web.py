"""What every answer of the server has in common: headers, the shape of an error, and nothing about who asked."""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 32_768  # bytes: a response has a few hundred
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
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


async def json_body(request: Request) -> Any:
    """Return what a request carries; an HTTPException says what is wrong with it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise HTTPException(413)
    try:
        return json.loads(bytes(body).decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400) from None
