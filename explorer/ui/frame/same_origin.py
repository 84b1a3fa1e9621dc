"""Answer only under this machine's own names, to no page of another address and in no frame of one.

Streamlit checks both for websockets alone, and by host: a page of another local port passes, and for a page from
elsewhere it asks a public server for this machine's address. Nor does it forbid frames, in which another site could
have a visitor click what is not seen; a `<meta>` tag cannot. The settings are Streamlit's own: `server.allowedHosts`,
`server.enableCORS` and `server.corsAllowedOrigins`.
"""

from __future__ import annotations

from urllib.parse import urlparse

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.web.server.server_util import is_allowed_origin
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

LONGEST = 200  # characters of what was sent, in the answer


class SameOrigin:
    """The middleware: 403 for a foreign Host or Origin, the app for all others, and no answer in a foreign frame."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or open one websocket."""
        refusal = _refusal(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_frames())
            await send(message)

        if refusal is None:
            await self.app(scope, receive, answer)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[:120]})
        else:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, answer)


def _frames() -> dict[str, str]:
    """The headers that name who may show an answer in a frame. Browsers that know the first ignore the second."""
    allowed = " ".join(["'self'", *config.get_option("server.corsAllowedOrigins")])
    return {"Content-Security-Policy": f"frame-ancestors {allowed}", "X-Frame-Options": "SAMEORIGIN"}


def _refusal(headers: Headers) -> str | None:
    host, origin = headers.get("host"), headers.get("origin")
    if not is_host_allowed(host):
        names = ", ".join(config.get_option("server.allowedHosts"))
        return f"Strata does not answer as '{(host or '')[:LONGEST]}', only as: {names} (server.allowedHosts)."
    same = origin is None or urlparse(origin).netloc == host
    if same or not config.get_option("server.enableCORS") or is_allowed_origin(origin or ""):
        return None
    return f"Strata answers its own pages, not those of '{(origin or '')[:LONGEST]}' (server.corsAllowedOrigins)."


MIDDLEWARE = [Middleware(SameOrigin)]
