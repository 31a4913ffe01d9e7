"""Gemini as a wire format: events without an end mark, whole calls, signatures that go back."""

import json
from urllib.parse import quote

from agent.errors import TransientProviderError
from agent.providers import edge, failures
from agent.providers.answer import Answer, Note
from agent.providers.base import Capabilities, ChatRequest, Stop, Usage
from agent.providers.gemini import body, shape
from agent.providers.gemini.body import Manner
from agent.providers.wire import Post, Sampling, ToldError, Wire

# What every current model of the family can be shown
CONTEXT_TOKENS = 1_048_576

_STOPS = {
    "MAX_TOKENS": Stop.LENGTH,
    # What follows would have to be asked for in a way that is not spoken here
    "CONTINUATION": Stop.LENGTH,
    "SAFETY": Stop.REFUSED,
    "RECITATION": Stop.REFUSED,
    "LANGUAGE": Stop.REFUSED,
    "BLOCKLIST": Stop.REFUSED,
    "PROHIBITED_CONTENT": Stop.REFUSED,
    "SPII": Stop.REFUSED,
    "MODEL_ARMOR": Stop.REFUSED,
    "ESCALATION": Stop.REFUSED,
    "PUP_LIMITED_DISABLED": Stop.REFUSED,
}
# The model wrote what its own service cannot read: another try often goes well
_ACCIDENTS = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"}
    | {"TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "OTHER"}
)


class GeminiWire(Wire[Manner]):
    """`POST models/{model}:streamGenerateContent`."""

    name = "gemini"
    # One page holds them all
    models_path = "models?pageSize=1000"

    def first_manner(self, host: str, model: str) -> Manner:
        return Manner.of_model(model)

    def other_manner(self, manner: Manner, refusal: failures.Refusal) -> Manner | None:
        return manner.after_refusal(failures.named_parameter(refusal.body))

    def write(self, request: ChatRequest, sampling: Sampling, manner: Manner) -> Post:
        model = quote(sampling.model.removeprefix("models/"), safe="")
        # Without the parameter the same comes as one array, which is read too
        path = f"models/{model}:streamGenerateContent?alt=sse"
        return Post(path, body.encode(request, sampling, manner, self.name))

    def read(self, event: str, answer: Answer) -> str:
        if event.lstrip().startswith("["):
            chunks = edge.decode(event, list[shape.Chunk])
        else:
            chunks = [edge.decode(event, shape.Chunk)]
        return "".join([_take(chunk, answer) for chunk in chunks])

    def read_models(self, body: str) -> list[str]:
        return [
            model.name.removeprefix("models/")
            for model in edge.decode(body, shape.ModelList).models
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


def _take(chunk: shape.Chunk, answer: Answer) -> str:
    if chunk.error is not None:
        raise ToldError(chunk.error)
    if chunk.usage_metadata is not None:
        answer.count(_usage(chunk.usage_metadata))
    if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
        answer.end(Stop.REFUSED)
    text = ""
    for candidate in chunk.candidates or ():
        # Others than the first were not asked for
        if not candidate.index:
            text += _take_candidate(candidate, answer)
    return text


def _take_candidate(candidate: shape.Candidate, answer: Answer) -> str:
    text = ""
    for part in (candidate.content.parts if candidate.content else None) or ():
        text += _take_part(part, answer)
    reason = candidate.finish_reason
    if reason in _ACCIDENTS:
        raise TransientProviderError(f"the model gave up its answer ({reason})")
    if reason:
        answer.end(_STOPS.get(reason, Stop.END))
        _send_back(answer)
    return text


def _take_part(part: shape.Part, answer: Answer) -> str:
    """Show its text, and note it as it has to be sent back."""
    signature = part.thought_signature or ""
    answer.count_bytes(signature)
    if part.function_call is not None:
        _add_call(part.function_call, signature, answer)
        return ""
    text = part.text or ""
    if part.thought:
        answer.count_bytes(text)
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


def _add_call(call: shape.FunctionCall, signature: str, answer: Answer) -> None:
    name, arguments = call.name or "", _json(call.args or {})
    answer.add_call(len(answer.notes), call.id or "", name, arguments)
    _note(answer, Note("call", name=name, args=arguments, id=call.id or "", signature=signature))


def _note(answer: Answer, note: Note) -> None:
    answer.notes[len(answer.notes)] = note


def _send_back(answer: Answer) -> None:
    """The parts of the answer, each with its signature where it was."""
    if any(note.text("signature") for note in answer.notes.values()):
        answer.send_back(_json([_said(note) for note in answer.notes.values()]))


def _said(note: Note) -> dict[str, object]:
    said: dict[str, object] = {}
    if note.kind == "call":
        call = {"name": note.text("name"), "args": edge.object_in(note.text("args"))}
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


def _usage(count: shape.TokenCount) -> Usage:
    sent = (count.prompt_token_count or 0) + (count.tool_use_prompt_token_count or 0)
    written = (count.candidates_token_count or 0) + (count.thoughts_token_count or 0)
    return Usage(max(sent, 0), max(written, 0), max(count.cached_content_token_count or 0, 0))
