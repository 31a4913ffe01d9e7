"""Wire format of OpenAI chat completions, which nearly every service speaks."""

import json

import msgspec

from agent.errors import TransientProviderError
from agent.providers import failures, service_json
from agent.providers.answer import AnswerBuilder, Note
from agent.providers.base import Capabilities, ChatRequest, StopReason, Usage
from agent.providers.completions.dialect import OF_CALLS, THOUGHTS, CompletionsDialect, encode
from agent.providers.wire import Sampling, ToldError, WireFormat, WireRequest


class FunctionPart(msgspec.Struct, frozen=True):
    """Name and arguments, or a piece of them; some services send arguments as an object."""

    name: str | None = None
    arguments: str | dict[str, object] | None = None


class CallPart(msgspec.Struct, frozen=True):
    """A tool call or a piece of one; pieces with the same `index` belong together."""

    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None
    # Google's signature of the thinking that led to the call; its service demands it back
    extra_content: object = None


class TextPart(msgspec.Struct, frozen=True):
    """Content as some services send it: a list, of which only text is for people."""

    text: str | None = None


class CompletionsMessage(msgspec.Struct, frozen=True):
    """A message, or what was added to it."""

    content: str | list[TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None
    # Some services demand their model's thoughts back with the results of its calls
    reasoning_content: str | None = None
    # Others, vLLM and OpenRouter among them, only show them
    reasoning: object = None
    # OpenRouter passes on in these what a model's own service demands back, such as signatures
    reasoning_details: object = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or self.refusal or ""


class PromptDetails(msgspec.Struct, frozen=True):
    """Breakdown of the tokens that were sent."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionsTokenCount(msgspec.Struct, frozen=True):
    """Counts of the service."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    # xAI's and Gemini's thoughts are in this alone, and cost what the answer does
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    # DeepSeek's name for it
    prompt_cache_hit_tokens: int | None = None
    # Moonshot's
    cached_tokens: int | None = None


class CompletionsChoice(msgspec.Struct, frozen=True):
    """One of the answers: `delta` in a stream, `message` in a whole answer."""

    index: int | None = None
    delta: CompletionsMessage | None = None
    message: CompletionsMessage | None = None
    finish_reason: str | None = None
    # Moonshot's place for it, at the end of a stream
    usage: CompletionsTokenCount | None = None


class CompletionsChunk(msgspec.Struct, frozen=True):
    """A whole answer, or one event of a stream."""

    choices: list[CompletionsChoice] | None = None
    usage: CompletionsTokenCount | None = None
    error: object = None
    # vLLM marks an error in the middle of a stream by this alone
    kind: str | None = msgspec.field(default=None, name="object")
    message: str | None = None


class CompletionsModel(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class CompletionsModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[CompletionsModel]


# Mistral's; Anthropic's, Z.AI's and of those who pass on what they say
_FULL = frozenset({"model_length", "model_context_window_exceeded"})
_STOPS = {
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    **dict.fromkeys(_FULL, StopReason.LENGTH),
    "content_filter": StopReason.REFUSED,
    "refusal": StopReason.REFUSED,
    "sensitive": StopReason.REFUSED,
}
# The service itself failed in the middle: what came is half an answer, or half a call
_BREAKS = frozenset({"error", "insufficient_system_resource", "network_error", "abort"})


class ThoughtBlock(Note):
    """A block of thoughts; `rest` is all of it but the text."""

    def __init__(self, begun: dict[str, object]) -> None:
        super().__init__(str(begun.get("type")))
        self.rest: dict[str, object] = {}
        self.take(begun)

    def take(self, piece: dict[str, object]) -> None:
        for name, value in piece.items():
            if name == "text" and isinstance(value, str):
                self.add(name, value)
            elif value is not None or name not in self.rest:
                self.rest[name] = value

    def goes_on(self, piece: dict[str, object]) -> bool:
        """Return true if a piece belongs to this block."""
        # Blocks of other kinds are whole
        is_text = self.kind == "reasoning.text" == piece.get("type")
        return is_text and self.rest.get("index") == piece.get("index")

    def said(self) -> dict[str, object]:
        return {**self.rest, "text": self.text("text")} if self.has("text") else self.rest


class CallExtra(Note):
    """Part that comes beside a call, to be sent back with it.

    Args:
        call: which of the calls, from 0.
    """

    def __init__(self, call: int, content: object) -> None:
        super().__init__("extra")
        self.call = call
        self.content = content


class CompletionsWire(WireFormat[CompletionsDialect]):
    """`POST chat/completions`, streamed."""

    name = "completions"

    def first_dialect(self, host: str, model: str) -> CompletionsDialect:
        return CompletionsDialect.of_host(host)

    def other_dialect(
        self, dialect: CompletionsDialect, refusal: failures.ServiceRefusal
    ) -> CompletionsDialect | None:
        return dialect.after_refusal(failures.named_parameter(refusal.body))

    def write(
        self, request: ChatRequest, sampling: Sampling, dialect: CompletionsDialect
    ) -> WireRequest:
        return WireRequest("chat/completions", encode(request, sampling, dialect, self.name))

    def read(self, event: str, answer: AnswerBuilder) -> str:
        return take(service_json.decode(event, CompletionsChunk), answer)

    def read_models(self, body: str) -> list[str]:
        # Together's list has nothing around it
        if body.lstrip().startswith("["):
            return [model.id for model in service_json.decode(body, list[CompletionsModel])]
        return [model.id for model in service_json.decode(body, CompletionsModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(native_tools=True, streaming=True)


def take(chunk: CompletionsChunk, answer: AnswerBuilder) -> str:
    """Do what `WireFormat.read` does, with a chunk or a whole answer."""
    if chunk.error is not None:
        raise ToldError(chunk.error)
    if chunk.kind == "error":
        raise ToldError(chunk.message)
    for one in (*(chunk.choices or ()), chunk):
        if one.usage is not None:
            answer.count(_usage(one.usage))
    text = ""
    for choice in chunk.choices or ():
        # Others than the first were not asked for
        if not choice.index:
            text += _read_choice(choice, answer)
    return answer.add_text(text)


def _read_choice(choice: CompletionsChoice, answer: AnswerBuilder) -> str:
    part = choice.delta or choice.message
    if part is not None and isinstance(part.reasoning_details, list):
        _keep_details(part.reasoning_details, answer)
    if part is not None and part.reasoning_content:
        _remember(part.reasoning_content, answer)
    elif part is not None and isinstance(part.reasoning, str):
        answer.count_bytes(part.reasoning)
        answer.think(part.reasoning)
    if choice.finish_reason in _BREAKS:
        raise TransientProviderError(
            f"the service broke off{answer.place()} ({choice.finish_reason})"
        )
    for call in (part.tool_calls if part is not None else None) or ():
        _add_call(call, answer)
    # Perplexity sends the message so far beside each addition to it
    is_whole = choice.message is not None and choice.delta is None
    if choice.finish_reason in _FULL:
        answer.fill()
    if choice.finish_reason or is_whole:
        answer.end(_STOPS.get(choice.finish_reason or "", StopReason.END))
        _send_back(answer)
    if part is None:
        return ""
    if part.refusal:
        answer.refuse()
    return part.text


def _add_call(call: CallPart, answer: AnswerBuilder) -> None:
    function = call.function or FunctionPart()
    written = function.arguments or ""
    if not isinstance(written, str):
        written = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    place = answer.add_call(call.index, call.id or "", function.name or "", written)
    if call.extra_content:
        answer.count_bytes(json.dumps(call.extra_content))
        answer.notes.setdefault(0, Note())
        answer.notes[len(answer.notes)] = CallExtra(place, call.extra_content)


def _remember(thoughts: str, answer: AnswerBuilder) -> None:
    """Keep thoughts, which are not shown: services want them back in a tool loop."""
    answer.count_bytes(thoughts)
    answer.think(thoughts)
    answer.notes.setdefault(0, Note()).add(THOUGHTS, thoughts)


def _keep_details(details: list[object], answer: AnswerBuilder) -> None:
    """Keep blocks of thoughts in their order; a call without them is refused by its own model."""
    answer.notes.setdefault(0, Note())
    for detail in details:
        if not isinstance(detail, dict):
            continue
        last = answer.notes[len(answer.notes) - 1]
        if isinstance(last, ThoughtBlock) and last.goes_on(detail):
            answer.count_bytes(f"{detail.get('text') or ''}{detail.get('signature') or ''}")
            last.take(detail)
        else:
            answer.count_bytes(json.dumps(detail))
            answer.notes[len(answer.notes)] = ThoughtBlock(detail)


def _send_back(answer: AnswerBuilder) -> None:
    back: dict[str, object] = {}
    if 0 in answer.notes and (thoughts := answer.notes[0].text(THOUGHTS)):
        back[THOUGHTS] = thoughts
    blocks = [note.said() for note in answer.notes.values() if isinstance(note, ThoughtBlock)]
    if blocks:
        back["reasoning_details"] = blocks
    if extras := [note for note in answer.notes.values() if isinstance(note, CallExtra)]:
        back[OF_CALLS] = {str(note.call): {"extra_content": note.content} for note in extras}
    if back:
        answer.send_back(json.dumps(back, ensure_ascii=False))


def _usage(count: CompletionsTokenCount) -> Usage:
    details = count.prompt_tokens_details or PromptDetails()
    sent = max(count.prompt_tokens or 0, 0)
    beyond_prompt = (count.total_tokens or 0) - sent if sent else 0
    return Usage(
        sent,
        max(count.completion_tokens or 0, beyond_prompt, 0),
        max(details.cached_tokens or count.prompt_cache_hit_tokens or count.cached_tokens or 0, 0),
        max(details.cache_write_tokens or 0, 0),
    )
