"""The label holder's service: a signed request for a release comes in, and a signed release goes out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from askance.collector.keys import Keys
from askance.collector.label_holder import LabelHolder, NotReleased
from askance.collector.label_requests import LabelRequests, RequestUsed
from askance.collector.signed_messages import ANSWER, SCHEME, LearnerKey, read_authorization
from askance.collector.store import StoreUnavailable
from askance.collector.web import BAD_BODY, Guard, body_bytes, guarded, read_json, said
from askance.errors import BudgetSpent, InvalidInput

LARGEST_REQUEST = 1 << 25  # bytes: 200,000 people with ten features; more go by files and the command line
_AT_ONCE = 2  # requests that are read into memory; others wait
_STRANGER = "the signature is wrong or missing, or nobody knows this learner"


class LabelApp:
    """Answers learners.

    Parameters
    ----------
    holder : LabelHolder
    requests : LabelRequests
    keys : Keys
    """

    def __init__(self, holder: LabelHolder, requests: LabelRequests, keys: Keys) -> None:
        self.holder = holder
        self.requests = requests
        self.keys = keys
        self._reading = asyncio.Semaphore(_AT_ONCE)

    def app(self) -> Guard:
        """Return the ASGI application."""
        routes = [Route(path, self.answer, methods=["POST"]) for path in ("/mean-operator", "/counts")]
        return guarded([*routes, Route("/health", self.health, methods=["GET"])], self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(self.requests.close)

    async def health(self, request: Request) -> Response:
        """Whether the service runs."""
        return JSONResponse({"status": "ok"})

    async def answer(self, request: Request) -> Response:
        """Take a request for a release; answered once the release is on disk."""
        found = read_authorization(request.headers.get("authorization", ""))
        try:
            if found is None or not await asyncio.to_thread(self.requests.knows, found[0]):
                return said(401, _STRANGER, www_authenticate=SCHEME)  # before a byte of its body is kept
            async with self._reading:
                return await self._signed(request, *found)
        except ClientDisconnect:
            return Response(status_code=400)
        except HTTPException as error:
            return said(error.status_code, BAD_BODY[error.status_code])
        except StoreUnavailable as error:
            self.holder.log(str(error))
            return said(503, "the request was not taken; send it again", retry_after="5")

    async def _signed(self, request: Request, learner: str, number: str, signature: str) -> Response:
        body, path = await body_bytes(request, LARGEST_REQUEST), request.url.path
        key = LearnerKey.derived(learner, self.keys.invitations)
        if not key.is_of_request(signature, number, path, body):
            return said(401, _STRANGER, www_authenticate=SCHEME)
        try:
            asked = await asyncio.to_thread(read_json, body)
            # Once begun it is finished, whether or not somebody still waits: it has been paid for.
            work = asyncio.to_thread(
                self.requests.answered, learner, number, body, lambda: self.holder.release(path, asked)
            )
            new, release = await asyncio.shield(work)
            answer = Response(release.encode(), 201 if new else 200, media_type="application/json")
            self.holder.log(f"{learner}: {path[1:]} released{'' if new else ' again, as it was'}")
        except RequestUsed as error:
            answer = said(409, str(error))
        except InvalidInput as error:
            self.holder.log(f"{learner}: refused: {error}")
            answer = said(422, str(error))
        except BudgetSpent as error:
            self.holder.log(f"{learner}: refused: {error}")
            answer = said(403, str(error))
        except NotReleased as error:
            answer = said(500, str(error))
        answer.headers[ANSWER] = key.of_answer(number, answer.status_code, bytes(answer.body))
        return answer
