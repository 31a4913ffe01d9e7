"""Identity of a request: the conversation that it belongs to, and what a repeated one is known by.

A client that sends a request again names it by a header, or says that it tries again. Two requests
that nobody calls the same are two, whatever they say.
"""

import hashlib
import secrets
from collections.abc import Mapping

from msgspec import Struct

from agent.gateway.assistants.asked import MAX_ID_CHARS
from agent.gateway.assistants.refusals import RequestRefused

# Of the caller's account, in each id: no caller reaches a message of another one. The hash of a
# token is told by its beginning, an address only by all of it
_ACCOUNT_CHARS = 16
_MAX_ADDRESS_CHARS = 45
_KEY_CHARS = 24
_BODY_CHARS = 16
_RANDOM_BYTES = 6
_KEY_HEADERS = ("idempotency-key", "x-client-request-id")
# OpenAI's own clients count their tries, and name no key
_TRIES = "x-stainless-retry-count"
CONVERSATION_HEADERS = ("x-barnacle-conversation", "x-openwebui-chat-id")
# A client that tries again does so at once, or after as long as an answer may take
TRIED_AGAIN_S = 1800.0


class RequestIdentity(Struct, frozen=True):
    """Identity of a request.

    Args:
        message_id: what the message is accepted once by.
        prefix: what the id of an earlier one begins with; empty where there can be none.
        is_keyed: the client has named it, so that another content is a mistake.
    """

    message_id: str
    prefix: str
    is_keyed: bool = False


def identity_of(sender: str, headers: Mapping[str, str], body: bytes) -> RequestIdentity:
    """Return the identity by the caller, their headers and the body.

    Raises:
        RequestRefused: a name is too long.
    """
    of_caller = _account_of(sender)
    digest = _digest(body, _BODY_CHARS)
    key = _first(headers, _KEY_HEADERS)
    if key:
        prefix = f"{of_caller}-k{_digest(key.encode(), _KEY_CHARS)}-"
        return RequestIdentity(f"{prefix}{digest}", prefix, is_keyed=True)
    prefix = f"{of_caller}-b{digest}-"
    is_again = headers.get(_TRIES, "0") not in {"", "0"}
    return RequestIdentity(
        f"{prefix}{secrets.token_hex(_RANDOM_BYTES)}", prefix if is_again else ""
    )


def is_of(message_id: str, sender: str) -> bool:
    """Return true if the message is the caller's."""
    return message_id.startswith(f"{_account_of(sender)}-")


def thread_of(headers: Mapping[str, str], named: str) -> str:
    """Return the conversation that a header or the body names; empty if none does.

    Raises:
        RequestRefused: a name is too long.
    """
    told = _first(headers, CONVERSATION_HEADERS)
    kind, name = ("header", told) if told else ("body", named)
    return f"c-{_digest(f'{kind}:{name}'.encode(), _KEY_CHARS)}" if name else ""


def _account_of(sender: str) -> str:
    return sender if len(sender) <= _MAX_ADDRESS_CHARS else sender[:_ACCOUNT_CHARS]


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    told = next((headers[name] for name in names if headers.get(name)), "")
    if len(told) > MAX_ID_CHARS:
        raise RequestRefused(400, f"{' or '.join(names)} is longer than {MAX_ID_CHARS} characters")
    return told


def _digest(content: bytes, chars: int) -> str:
    return hashlib.sha256(content).hexdigest()[:chars]
