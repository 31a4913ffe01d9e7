"""Messages of JSON-RPC as the protocol uses them, and its errors."""

from typing import Any

import msgspec
from msgspec import Struct

from agent.text.printable import printable_line

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# The protocol's own
RESOURCE_NOT_FOUND = -32002


class RpcRefused(Exception):
    """Request that is answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class RpcMessage(msgspec.Struct, frozen=True):
    """Request, notification, or answer of a client; the last has no method."""

    jsonrpc: str
    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None

    @property
    def is_answer(self) -> bool:
        return not self.method and self.id is not None

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not None


class RpcAnswer(Struct, frozen=True):
    """Answer to a request."""

    id: int | str | None
    result: dict[str, object] | None = None
    error: RpcRefused | None = None

    def encoded(self) -> bytes:
        told: dict[str, object] = {"jsonrpc": "2.0", "id": self.id}
        if self.error is not None:
            told["error"] = {"code": self.error.code, "message": str(self.error)}
        else:
            told["result"] = self.result
        return msgspec.json.encode(told)


def read(body: bytes) -> RpcMessage:
    """Return the message in a body.

    Raises:
        RpcRefused: it is none; the text repeats nothing of it.
    """
    try:
        message = msgspec.json.decode(body, type=RpcMessage)
    except msgspec.ValidationError as err:
        told = printable_line(str(err), 200)
        raise RpcRefused(INVALID_REQUEST, f"no message of JSON-RPC 2.0: {told}") from err
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise RpcRefused(PARSE_ERROR, "the body is no JSON") from err
    if message.jsonrpc != "2.0":
        raise RpcRefused(INVALID_REQUEST, "only JSON-RPC 2.0 is spoken here")
    return message


def read_batch(body: bytes, most: int) -> list[bytes]:
    """Return the messages that came together, each as it was written.

    Raises:
        RpcRefused: there are none, or too many.
    """
    try:
        raws = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise RpcRefused(PARSE_ERROR, "the body is no JSON") from err
    if not 0 < len(raws) <= most:
        raise RpcRefused(INVALID_REQUEST, f"a batch has one to {most} messages here")
    return [bytes(one) for one in raws]


def text_of(params: dict[str, Any], name: str) -> str:
    """Return a parameter that has to be a text.

    Raises:
        RpcRefused: it is none.
    """
    found = params.get(name)
    if not isinstance(found, str):
        raise RpcRefused(INVALID_PARAMS, f"params.{name} has to be a text")
    return found
