"""Responses: the request as clients send it, and the answer in one piece or as events."""

from itertools import count

import msgspec
from msgspec import Struct, field

from agent.gateway.assistants.asked import (
    Asked,
    Id,
    MessagePart,
    Said,
    decoded,
    parted,
    refuse_other,
    refuse_tools,
)
from agent.gateway.assistants.refusals import RequestRefused
from agent.text.printable import printable_line

PATH = "/v1/responses"
ID_PREFIX = "resp_"


class InputItem(msgspec.Struct, frozen=True):
    """Item of the input: a message, whose type need not be said."""

    type: str = "message"
    role: str = ""
    content: str | list[MessagePart] | None = None


class TextFormat(msgspec.Struct, frozen=True):
    """Form of the text."""

    type: str = "text"


class TextWish(msgspec.Struct, frozen=True):
    """Wishes about the text."""

    format: TextFormat | None = None


class ConversationName(msgspec.Struct, frozen=True):
    """Name of a conversation, as an object."""

    id: Id


class ResponseRequest(msgspec.Struct, frozen=True):
    """Request for a response; how a model is to be run is not the client's to say."""

    model: str
    input: str | list[InputItem]
    instructions: str | None = None
    stream: bool | None = None
    tools: list[object] | None = None
    background: bool | None = None
    previous_response_id: Id | None = None
    conversation: Id | ConversationName | None = None
    text: TextWish | None = None
    user: Id | None = None


def read(body: bytes) -> Asked:
    """Return the content of a request.

    Raises:
        RequestRefused: it is none, or asks for what is not done here.
    """
    wanted = decoded(body, ResponseRequest)
    refuse_tools(("tools", wanted.tools))
    refuse_other("background", wanted.background, usual=False, why="the answer comes at once")
    form = wanted.text and wanted.text.format
    refuse_other("text.format", form and form.type, "text", "answers are plain text")
    given = wanted.input
    said = [Said("user", given)] if isinstance(given, str) else list(map(_said, given))
    text, instructions, earlier = parted(said, "input")
    named = wanted.conversation
    return Asked(
        model=wanted.model,
        text=text,
        instructions="\n".join(filter(None, (wanted.instructions, instructions))),
        earlier=earlier,
        conversation=(named.id if isinstance(named, ConversationName) else named)
        or wanted.user
        or "",
        follows=(wanted.previous_response_id or "").removeprefix(ID_PREFIX),
        is_streamed=bool(wanted.stream),
    )


def _said(item: InputItem) -> Said:
    if item.type != "message":
        kind = printable_line(item.type, 40)
        raise RequestRefused(
            400,
            f"an item of type {kind!r} cannot be read here: send messages alone",
            param="input",
            code="unsupported_content",
        )
    return Said(item.role, item.content)


class ResponseForm(Struct, frozen=True):
    """Shape of one answer; tokens are not counted for a client, so no `usage` is told."""

    message_id: str
    model: str
    created_s: int
    follows: str = ""
    _numbers: "count[int]" = field(default_factory=count)

    def whole(self, text: str) -> dict[str, object]:
        """Return the answer in one piece."""
        return self._response("completed", [self._item("completed", [_part(text)])])

    def begun(self) -> bytes:
        open_one = self._response("in_progress", [])
        return (
            self._event("response.created", response=open_one)
            + self._event("response.in_progress", response=open_one)
            + self._event(
                "response.output_item.added", output_index=0, item=self._item("in_progress", [])
            )
            + self._of_part("response.content_part.added", part=_part(""))
        )

    def grown(self, text: str) -> bytes:
        return self._of_part("response.output_text.delta", delta=text, logprobs=[])

    def ended(self, text: str) -> bytes:
        """Return the end of a stream, with all that was said in it."""
        return (
            self._of_part("response.output_text.done", text=text, logprobs=[])
            + self._of_part("response.content_part.done", part=_part(text))
            + self._event(
                "response.output_item.done",
                output_index=0,
                item=self._item("completed", [_part(text)]),
            )
            + self._event("response.completed", response=self.whole(text))
        )

    def failed(self, body: dict[str, object]) -> bytes:
        """Return the end of a stream to which no answer came."""
        error = body["error"]
        told = error["message"] if isinstance(error, dict) else ""
        failure = {"code": "server_error", "message": told}
        return self._event(
            "response.failed", response={**self._response("failed", []), "error": failure}
        )

    def _of_part(self, kind: str, **more: object) -> bytes:
        return self._event(
            kind, item_id=f"msg_{self.message_id}", output_index=0, content_index=0, **more
        )

    def _event(self, kind: str, **more: object) -> bytes:
        told = {"type": kind, "sequence_number": next(self._numbers), **more}
        return f"event: {kind}\n".encode() + b"data: " + msgspec.json.encode(told) + b"\n\n"

    def _item(self, status: str, content: list[dict[str, object]]) -> dict[str, object]:
        return {
            "id": f"msg_{self.message_id}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _response(self, status: str, output: list[dict[str, object]]) -> dict[str, object]:
        return {
            "id": f"{ID_PREFIX}{self.message_id}",
            "object": "response",
            "created_at": self.created_s,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": output,
            "parallel_tool_calls": False,
            "previous_response_id": f"{ID_PREFIX}{self.follows}" if self.follows else None,
            "tool_choice": "none",
            "tools": [],
        }


def _part(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
