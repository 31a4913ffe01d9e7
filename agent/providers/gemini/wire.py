"""Gemini as a wire format: events without an end mark, whole calls, signatures that go back."""

import json
from urllib.parse import quote

import msgspec

from agent.errors import TransientProviderError
from agent.providers import failures, service_json
from agent.providers.answer import AnswerBuilder, Note
from agent.providers.base import Capabilities, ChatRequest, StopReason, Usage
from agent.providers.gemini import body
from agent.providers.gemini.body import GeminiDialect
from agent.providers.wire import Sampling, ToldError, WireFormat, WireRequest


class GeminiCall(msgspec.Struct, frozen=True):
    """A call, always whole; older models give no id."""

    name: str | None = None
    args: dict[str, object] | None = None
    id: str | None = None


class GeminiPart(msgspec.Struct, frozen=True, rename="camel"):
    """A piece of an answer; `thought` marks a summary of thinking, which is not for people."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: GeminiCall | None = None


class GeminiContent(msgspec.Struct, frozen=True):
    """Addition to an answer."""

    parts: list[GeminiPart] | None = None


class GeminiCandidate(msgspec.Struct, frozen=True, rename="camel"):
    """One of the answers."""

    content: GeminiContent | None = None
    finish_reason: str | None = None
    index: int | None = None


class PromptFeedback(msgspec.Struct, frozen=True, rename="camel"):
    """Reason for a missing answer."""

    block_reason: str | None = None


class GeminiTokenCount(msgspec.Struct, frozen=True, rename="camel"):
    """Counts of the service so far; cached tokens are among those of the prompt."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class GeminiChunk(msgspec.Struct, frozen=True, rename="camel"):
    """One event of a stream, or a whole answer."""

    candidates: list[GeminiCandidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: GeminiTokenCount | None = None
    error: object = None


class GeminiModel(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of the list of models, called `models/` and its name."""

    name: str
    supported_generation_methods: list[str] | None = None


class GeminiModelList(msgspec.Struct, frozen=True):
    """The models of the service."""

    models: list[GeminiModel]


# What every current model of the family can be shown
CONTEXT_TOKENS = 1_048_576

_STOPS = {
    "MAX_TOKENS": StopReason.LENGTH,
    # What follows would have to be asked for in a way that is not spoken here
    "CONTINUATION": StopReason.LENGTH,
    "SAFETY": StopReason.REFUSED,
    "RECITATION": StopReason.REFUSED,
    "LANGUAGE": StopReason.REFUSED,
    "BLOCKLIST": StopReason.REFUSED,
    "PROHIBITED_CONTENT": StopReason.REFUSED,
    "SPII": StopReason.REFUSED,
    "MODEL_ARMOR": StopReason.REFUSED,
    "ESCALATION": StopReason.REFUSED,
    "PUP_LIMITED_DISABLED": StopReason.REFUSED,
}
# The model wrote what its own service cannot read: another try often goes well
_ACCIDENTS = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"}
    | {"TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "OTHER"}
)


class GeminiWire(WireFormat[GeminiDialect]):
    """`POST models/{model}:streamGenerateContent`."""

    name = "gemini"
    # One page holds them all
    models_path = "models?pageSize=1000"

    def first_dialect(self, host: str, model: str) -> GeminiDialect:
        return GeminiDialect.of_model(model)

    def other_dialect(
        self, dialect: GeminiDialect, refusal: failures.ServiceRefusal
    ) -> GeminiDialect | None:
        return dialect.after_refusal(failures.named_parameter(refusal.body))

    def write(
        self, request: ChatRequest, sampling: Sampling, dialect: GeminiDialect
    ) -> WireRequest:
        model = quote(sampling.model.removeprefix("models/"), safe="")
        # Without the parameter the same comes as one array, which is read too
        path = f"models/{model}:streamGenerateContent?alt=sse"
        return WireRequest(path, body.encode(request, sampling, dialect, self.name))

    def read(self, event: str, answer: AnswerBuilder) -> str:
        if event.lstrip().startswith("["):
            chunks = service_json.decode(event, list[GeminiChunk])
        else:
            chunks = [service_json.decode(event, GeminiChunk)]
        return "".join([_take(chunk, answer) for chunk in chunks])

    def read_models(self, body: str) -> list[str]:
        return [
            model.name.removeprefix("models/")
            for model in service_json.decode(body, GeminiModelList).models
            if "generateContent" in (model.supported_generation_methods or ["generateContent"])
        ]

    def capabilities(self, model: str) -> Capabilities:
        is_gemini = model.removeprefix("models/").startswith("gemini")
        return Capabilities(
            native_tools=True,
            streaming=True,
            vision=True,
            caching=is_gemini,
            thinking=is_gemini,
            context_tokens=CONTEXT_TOKENS if is_gemini else None,
        )


def _take(chunk: GeminiChunk, answer: AnswerBuilder) -> str:
    if chunk.error is not None:
        raise ToldError(chunk.error)
    if chunk.usage_metadata is not None:
        answer.count(_usage(chunk.usage_metadata))
    if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
        answer.end(StopReason.REFUSED)
    text = ""
    for candidate in chunk.candidates or ():
        # Others than the first were not asked for
        if not candidate.index:
            text += _take_candidate(candidate, answer)
    return text


def _take_candidate(candidate: GeminiCandidate, answer: AnswerBuilder) -> str:
    text = ""
    for part in (candidate.content.parts if candidate.content else None) or ():
        text += _take_part(part, answer)
    reason = candidate.finish_reason
    if reason in _ACCIDENTS:
        raise TransientProviderError(f"the model stopped without an answer ({reason})")
    if reason:
        answer.end(_STOPS.get(reason, StopReason.END))
        _send_back(answer)
    return text


def _take_part(part: GeminiPart, answer: AnswerBuilder) -> str:
    """Show a part's text, and note the part as it has to be sent back."""
    signature = part.thought_signature or ""
    answer.count_bytes(signature)
    if part.function_call is not None:
        _add_call(part.function_call, signature, answer)
        return ""
    text = part.text or ""
    if part.thought:
        answer.count_bytes(text)
        answer.think(text)
        # A summary alone need not go back
        if signature:
            _note(answer, Note("thought", text=text, signature=signature))
        return ""
    last = answer.notes.get(len(answer.notes) - 1)
    if last is not None and last.kind == "text" and not signature and not last.text("signature"):
        last.add("text", text)
    elif text or signature:
        _note(answer, Note("text", text=text, signature=signature))
    return answer.add_text(text)


def _add_call(call: GeminiCall, signature: str, answer: AnswerBuilder) -> None:
    name, arguments = call.name or "", _json(call.args or {})
    answer.add_call(len(answer.notes), call.id or "", name, arguments)
    _note(answer, Note("call", name=name, args=arguments, id=call.id or "", signature=signature))


def _note(answer: AnswerBuilder, note: Note) -> None:
    answer.notes[len(answer.notes)] = note


def _send_back(answer: AnswerBuilder) -> None:
    """Send back the parts of the answer, each with its signature in place."""
    if any(note.text("signature") for note in answer.notes.values()):
        answer.send_back(_json([_said(note) for note in answer.notes.values()]))


def _said(note: Note) -> dict[str, object]:
    said: dict[str, object] = {}
    if note.kind == "call":
        call = {"name": note.text("name"), "args": service_json.object_in(note.text("args"))}
        said["functionCall"] = {**call, "id": note.text("id")} if note.text("id") else call
    else:
        said["text"] = note.text("text")
    if note.kind == "thought":
        said["thought"] = True
    if note.text("signature"):
        said["thoughtSignature"] = note.text("signature")
    return said


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _usage(count: GeminiTokenCount) -> Usage:
    sent = (count.prompt_token_count or 0) + (count.tool_use_prompt_token_count or 0)
    written = (count.candidates_token_count or 0) + (count.thoughts_token_count or 0)
    return Usage(max(sent, 0), max(written, 0), max(count.cached_content_token_count or 0, 0))
