"""Chat completions: the request as clients send it, and the answer in one piece or in chunks."""

import msgspec
from msgspec import Struct

from agent.gateway.assistants.asked import (
    Asked,
    Id,
    Said,
    decoded,
    parted,
    refuse_other,
    refuse_tools,
)

PATH = "/v1/chat/completions"
END = b"data: [DONE]\n\n"


class ResponseFormat(msgspec.Struct, frozen=True):
    """Form that the client wants the answer in."""

    type: str = "text"


class CompletionRequest(msgspec.Struct, frozen=True):
    """Request for a chat completion; how a model is to be run is not the client's to say."""

    model: str
    messages: list[Said]
    stream: bool | None = None
    n: int | None = None
    tools: list[object] | None = None
    functions: list[object] | None = None
    response_format: ResponseFormat | None = None
    modalities: list[str] | None = None
    user: Id | None = None


def read(body: bytes) -> Asked:
    """Return the content of a request.

    Raises:
        RequestRefused: it is none, or asks for what is not done here.
    """
    wanted = decoded(body, CompletionRequest)
    refuse_tools(("tools", wanted.tools), ("functions", wanted.functions))
    refuse_other("n", wanted.n, 1, "one answer is given to one request")
    refuse_other("modalities", wanted.modalities, ["text"], "answers are text")
    form = wanted.response_format
    refuse_other("response_format", form and form.type, "text", "answers are plain text")
    text, instructions, earlier = parted(wanted.messages, "messages")
    return Asked(
        model=wanted.model,
        text=text,
        instructions=instructions,
        earlier=earlier,
        conversation=wanted.user or "",
        is_streamed=bool(wanted.stream),
    )


class CompletionForm(Struct, frozen=True):
    """Shape of one answer; tokens are not counted for a client, so no `usage` is told."""

    message_id: str
    model: str
    created_s: int

    def whole(self, text: str) -> dict[str, object]:
        """Return the answer in one piece."""
        said = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice]}

    def begun(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def grown(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def ended(self, _text: str) -> bytes:
        return self._chunk({}, "stop") + END

    def failed(self, body: dict[str, object]) -> bytes:
        """Return the end of a stream to which no answer came."""
        return b"data: " + msgspec.json.encode(body) + b"\n\n" + END

    def _chunk(self, delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        told = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return b"data: " + msgspec.json.encode(told) + b"\n\n"

    def _head(self, kind: str) -> dict[str, object]:
        return {
            "id": f"chatcmpl-{self.message_id}",
            "object": kind,
            "created": self.created_s,
            "model": self.model,
        }
