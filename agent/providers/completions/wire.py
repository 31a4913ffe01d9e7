"""OpenAI chat completions as they are spoken by nearly every service."""

import json

from agent.providers import edge, failures
from agent.providers.answer import Answer, Note
from agent.providers.base import Capabilities, ChatRequest, Stop, Usage
from agent.providers.completions import dialect, shape
from agent.providers.completions.dialect import Dialect
from agent.providers.wire import Post, Sampling, ToldError, Wire

_STOPS = {
    "tool_calls": Stop.TOOLS,
    "function_call": Stop.TOOLS,
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "content_filter": Stop.REFUSED,
    "refusal": Stop.REFUSED,
}

_THOUGHTS = "reasoning_content"


class CompletionsWire(Wire[Dialect]):
    """`POST chat/completions`, streamed."""

    name = "completions"

    def first_manner(self, host: str, model: str) -> Dialect:
        return Dialect.of_host(host)

    def other_manner(self, manner: Dialect, refusal: failures.Refusal) -> Dialect | None:
        return manner.after_refusal(failures.named_parameter(refusal.body))

    def write(self, request: ChatRequest, sampling: Sampling, manner: Dialect) -> Post:
        return Post("chat/completions", dialect.encode(request, sampling, manner, self.name))

    def read(self, event: str, answer: Answer) -> str:
        return take(edge.decode(event, shape.Chunk), answer)

    def read_models(self, body: str) -> list[str]:
        return [model.id for model in edge.decode(body, shape.ModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(native_tools=True, streaming=True)


def take(chunk: shape.Chunk, answer: Answer) -> str:
    """As `Wire.read` says, from a chunk or a whole answer."""
    if chunk.error is not None:
        raise ToldError(chunk.error)
    if chunk.kind == "error":
        raise ToldError(chunk.message)
    if chunk.usage is not None:
        answer.count(_usage(chunk.usage))
    text = ""
    for choice in chunk.choices or ():
        # Others than the first were not asked for
        if not choice.index:
            text += _read_choice(choice, answer)
    return answer.add_text(text)


def _read_choice(choice: shape.Choice, answer: Answer) -> str:
    part = choice.delta or choice.message
    if part is not None and part.reasoning_content:
        _remember(part.reasoning_content, answer)
    if choice.finish_reason or choice.message is not None:
        answer.end(_STOPS.get(choice.finish_reason or "", Stop.END))
        _send_back(answer)
    if part is None:
        return ""
    if part.refusal:
        answer.refuse()
    for call in part.tool_calls or ():
        function = call.function or shape.FunctionPart()
        written = function.arguments or ""
        if not isinstance(written, str):
            written = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        answer.add_call(call.index, call.id or "", function.name or "", written)
    return part.text


def _remember(thoughts: str, answer: Answer) -> None:
    """Thoughts are not shown; services that send them want them back in a tool loop."""
    answer.count_bytes(thoughts)
    answer.notes.setdefault(0, Note()).add(_THOUGHTS, thoughts)


def _send_back(answer: Answer) -> None:
    if 0 in answer.notes:
        thoughts = answer.notes[0].text(_THOUGHTS)
        answer.send_back(json.dumps({_THOUGHTS: thoughts}, ensure_ascii=False))


def _usage(count: shape.TokenCount) -> Usage:
    details = count.prompt_tokens_details or shape.PromptDetails()
    return Usage(
        max(count.prompt_tokens or 0, 0),
        max(count.completion_tokens or 0, 0),
        max(details.cached_tokens or count.prompt_cache_hit_tokens or 0, 0),
        max(details.cache_write_tokens or 0, 0),
    )
