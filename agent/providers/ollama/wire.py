"""Ollama as a wire format: lines of JSON, whole calls without ids, a window of a set size."""

import json
import re

import msgspec

from agent.errors import ContextOverflow
from agent.providers import failures, service_json
from agent.providers.answer import AnswerBuilder, Note
from agent.providers.base import Capabilities, ChatRequest, StopReason, Usage
from agent.providers.lines import LineSplitter
from agent.providers.ollama import body
from agent.providers.ollama.body import OllamaDialect
from agent.providers.wire import Sampling, Splitter, ToldError, WireFormat, WireRequest


class OllamaFunction(msgspec.Struct, frozen=True):
    """Name and arguments, which are an object; some that imitate Ollama send a string."""

    name: str | None = None
    arguments: dict[str, object] | str | None = None


class OllamaCall(msgspec.Struct, frozen=True):
    """A tool call, always whole; only newer releases give it an id."""

    function: OllamaFunction | None = None
    id: str | None = None


class OllamaMessage(msgspec.Struct, frozen=True):
    """Addition to the answer."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[OllamaCall] | None = None


class OllamaChunk(msgspec.Struct, frozen=True):
    """One line of a stream, or a whole answer; the counts come with `done`."""

    message: OllamaMessage | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: object = None


class OllamaModel(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    name: str


class OllamaModelList(msgspec.Struct, frozen=True):
    """The models that were pulled."""

    models: list[OllamaModel]


# Nothing worth having is said in less; a prompt that was cut to the window leaves none of it
LEAST_ROOM_TOKENS = 16

_STOPS = {"length": StopReason.LENGTH}
# By their names alone: what a model can do is not told with its answers
_SEEING = re.compile(
    r"llava|vision|moondream|minicpm-v|gemma[34]|llama4|mistral-small3|[-.0-9]vl\b", re.IGNORECASE
)
# Where thinking is kept among an answer's notes, before the calls
_THINKING = 0


class OllamaWire(WireFormat[OllamaDialect]):
    """`POST chat`, streamed.

    Args:
        context_tokens: the size of the window that is asked for.
    """

    name = "ollama"
    models_path = "tags"

    def __init__(self, context_tokens: int) -> None:
        self._context_tokens = context_tokens

    def first_dialect(self, host: str, model: str) -> OllamaDialect:
        return OllamaDialect()

    def other_dialect(
        self, dialect: OllamaDialect, refusal: failures.ServiceRefusal
    ) -> OllamaDialect | None:
        return dialect.after_refusal(failures.named_parameter(refusal.body))

    def write(
        self, request: ChatRequest, sampling: Sampling, dialect: OllamaDialect
    ) -> WireRequest:
        written = body.encode(request, sampling, dialect, self.name, self._context_tokens)
        return WireRequest("chat", written)

    def read(self, event: str, answer: AnswerBuilder) -> str:
        # A stream that a proxy calls one document has its lines all the same
        lines = [line for line in event.split("\n") if line.strip()] or [event]
        return "".join(
            [self._take(service_json.decode(line, OllamaChunk), answer) for line in lines]
        )

    def read_models(self, body: str) -> list[str]:
        return [model.name for model in service_json.decode(body, OllamaModelList).models]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True,
            streaming=True,
            vision=_SEEING.search(model) is not None,
            context_tokens=self._context_tokens,
        )

    def splitter(self) -> Splitter:
        return LineSplitter()

    def _take(self, chunk: OllamaChunk, answer: AnswerBuilder) -> str:
        if chunk.error is not None:
            raise ToldError(chunk.error)
        text = "" if chunk.message is None else _take_message(chunk.message, answer)
        if chunk.done:
            sent = max(chunk.prompt_eval_count or 0, 0)
            written = max(chunk.eval_count or 0, 0)
            answer.count(Usage(sent, written))
            self._refuse_cut_prompt(sent)
            if chunk.done_reason == "length" and self._is_filled(sent, written):
                answer.fill()
            answer.end(_STOPS.get(chunk.done_reason or "", StopReason.END))
            _send_back(answer)
            answer.close()
        return text

    def _is_filled(self, sent_tokens: int, written_tokens: int) -> bool:
        """Return true if the window ended, and not the limit: it has one word for both."""
        limit = self._context_tokens
        return sent_tokens < limit <= sent_tokens + written_tokens + LEAST_ROOM_TOKENS

    def _refuse_cut_prompt(self, sent_tokens: int) -> None:
        """Refuse an answer to a cut prompt: older releases cut it to the window's size."""
        limit = self._context_tokens
        if limit - LEAST_ROOM_TOKENS <= sent_tokens <= limit:
            raise ContextOverflow(
                f"the conversation fills the model's window of {limit} tokens, and its beginning "
                "may have been cut off: set provider.context_tokens higher"
            )


def _take_message(message: OllamaMessage, answer: AnswerBuilder) -> str:
    if message.thinking:
        answer.count_bytes(message.thinking)
        answer.think(message.thinking)
        answer.notes.setdefault(_THINKING, Note()).add("text", message.thinking)
    for call in message.tool_calls or ():
        function = call.function or OllamaFunction()
        written = function.arguments or {}
        if not isinstance(written, str):
            written = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        # Numbered from 1, in whatever lines they come
        index = max(answer.notes, default=0) + 1
        answer.notes[index] = Note("call")
        answer.add_call(index, call.id or "", function.name or "", written)
    return answer.add_text(message.content or "")


def _send_back(answer: AnswerBuilder) -> None:
    """Put the thoughts that led to calls before their results."""
    if thoughts := answer.notes.get(_THINKING, Note()).text("text"):
        answer.send_back(json.dumps(thoughts, ensure_ascii=False))
