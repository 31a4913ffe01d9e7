"""One request, past the guards: its cookies, its language, its form and the answer's headers."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from agent.console.guards import (
    DOOR_COOKIE,
    MAX_BODY_BYTES,
    SESSION_COOKIE,
    RequestHead,
    cookie,
    secured,
)
from agent.console.wording import Wording, chosen

# A form comes in one or two packets
BODY_TIMEOUT_S = 8.0
_MOST_FIELDS = 12
_MOST_LANGUAGE_CHARS = 200
SESSION_AGE_S = 30 * 86_400
DOOR_AGE_S = 600
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With none at all a browser does not say where a form comes from
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), serial=()",
}


class BadForm(Exception):
    """The form cannot be taken; the status says why."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Visit(Struct, frozen=True):
    """A request and who makes it, as far as that is known without asking the agent."""

    request: Request
    head: RequestHead
    who: str

    @property
    def session(self) -> str:
        return cookie(self.head, secured(SESSION_COOKIE)) or cookie(self.head, SESSION_COOKIE)

    @property
    def door(self) -> str:
        return cookie(self.head, secured(DOOR_COOKIE)) or cookie(self.head, DOOR_COOKIE)

    @property
    def wording(self) -> Wording:
        return chosen((self.head.one(b"accept-language") or "")[:_MOST_LANGUAGE_CHARS])

    @property
    def is_part(self) -> bool:
        """Return true if a script asks, which changes the page itself."""
        return self.head.one(b"hx-request") == "true"

    def query(self, most_fields: int = _MOST_FIELDS) -> Mapping[str, str]:
        """Raises BadForm: it has more fields than any link or form of ours."""
        return dict(self._pairs(most_fields))

    def query_list(self, name: str, most_fields: int = _MOST_FIELDS) -> list[str]:
        """Raises BadForm: it has more fields than any link or form of ours."""
        return [value for key, value in self._pairs(most_fields) if key == name]

    def _pairs(self, most_fields: int) -> list[tuple[str, str]]:
        try:
            return parse_qsl(self.head.query.decode("latin-1"), max_num_fields=most_fields)
        except ValueError as err:
            raise BadForm(400) from err

    async def form(self, secret: str, most_fields: int = _MOST_FIELDS) -> Mapping[str, str]:
        """Return the fields of a form that a page of this browser has sent.

        Args:
            secret: the cookie that the form's token was made from.
            most_fields: a longer form is none of ours.

        Raises:
            BadForm: it is no such form.
        """
        try:
            fields = dict(
                parse_qsl(
                    (await self._body()).decode(),
                    keep_blank_values=True,
                    strict_parsing=True,
                    max_num_fields=most_fields,
                )
            )
        except ValueError as err:
            raise BadForm(400) from err
        if not secret or not hmac.compare_digest(
            fields.get("token", "").encode(), form_token(secret).encode()
        ):
            raise BadForm(403)
        return fields

    async def _body(self) -> bytes:
        held = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                async for piece in self.request.stream():
                    held += piece
                    if len(held) > MAX_BODY_BYTES:
                        raise BadForm(413)
        except TimeoutError as err:
            raise BadForm(408) from err
        except ClientDisconnect as err:
            raise BadForm(400) from err
        return bytes(held)


def form_token(secret: str) -> str:
    """Return the token of the forms for the browser with this cookie; no process has to keep it."""
    return hashlib.sha256(f"form {secret}".encode()).hexdigest()[:32]


def give(response: Response, name: str, value: str, age_s: int, *, is_secure: bool) -> None:
    """Set a cookie that no script and no other site sees."""
    response.set_cookie(
        secured(name) if is_secure else name,
        value,
        max_age=age_s,
        path="/",
        httponly=True,
        samesite="strict",
        secure=is_secure,
    )


def take_back(response: Response, name: str, *, is_secure: bool) -> None:
    """End a cookie that came by TLS, or the other one of that name."""
    key = secured(name) if is_secure else name
    response.delete_cookie(key, path="/", httponly=True, samesite="strict", secure=is_secure)
