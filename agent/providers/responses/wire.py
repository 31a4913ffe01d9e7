"""OpenAI Responses as a wire format: typed events, items that are sent back in tool loops."""

import json

import msgspec

from agent.providers import edge, failures
from agent.providers.answer import Answer, Note
from agent.providers.base import Capabilities, ChatRequest, Stop, Usage
from agent.providers.responses import body, shape
from agent.providers.responses.body import Manner
from agent.providers.wire import Post, Sampling, ToldError, Wire

_STOPS = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.REFUSED}
_ENDED = frozenset({"completed", "incomplete"})


class ResponsesWire(Wire[Manner]):
    """`POST responses`, streamed and not stored."""

    name = "responses"

    def first_manner(self, host: str, model: str) -> Manner:
        return Manner()

    def other_manner(self, manner: Manner, refusal: failures.Refusal) -> Manner | None:
        return manner.after_refusal(failures.named_parameter(refusal.body))

    def write(self, request: ChatRequest, sampling: Sampling, manner: Manner) -> Post:
        return Post("responses", body.encode(request, sampling, manner, self.name))

    def read(self, event: str, answer: Answer) -> str:
        taken = edge.decode(event, shape.Event)
        if taken.type:
            return _take(taken, answer)
        return _take_whole(edge.decode(event, shape.Response), answer)

    def read_models(self, body: str) -> list[str]:
        return [model.id for model in edge.decode(body, shape.ModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True, streaming=True, vision=True, caching=True, thinking=True
        )


def _take(event: shape.Event, answer: Answer) -> str:
    item = event.item or shape.Item()
    match event.type:
        case "error":
            raise ToldError({"message": event.message, "code": event.code, "param": event.param})
        case "response.failed":
            raise ToldError(event.response.error if event.response else None)
        case "response.output_text.delta":
            return answer.add_text(event.delta or "")
        case "response.refusal.delta":
            answer.refuse()
            return answer.add_text(event.delta or "")
        case "response.output_item.added" if item.type == "function_call":
            answer.notes[event.output_index] = Note("function_call")
            answer.add_call(event.output_index, item.call_id or "", item.name or "", "")
        case "response.function_call_arguments.delta":
            _add_arguments(event.output_index, event.delta or "", answer)
        case "response.output_item.done" if item.type == "function_call":
            _complete(event.output_index, item, answer)
        case "response.completed" | "response.incomplete":
            _end(event.response or shape.Response(), answer)
            answer.close()
    return ""


def _add_arguments(index: int, piece: str, answer: Answer) -> None:
    if index in answer.notes:
        answer.notes[index].add("arguments", piece)
        answer.add_call(index, "", "", piece)


def _complete(index: int, item: shape.Item, answer: Answer) -> None:
    """The whole item again: it counts where its pieces did not come."""
    note = answer.notes.get(index)
    if note is None:
        answer.add_call(index, item.call_id or "", item.name or "", item.arguments or "{}")
    elif not note.text("arguments"):
        answer.add_call(index, "", "", item.arguments or "{}")


def _take_whole(response: shape.Response, answer: Answer) -> str:
    if response.error is not None or response.status == "failed":
        raise ToldError(response.error)
    if response.output is None:
        raise edge.WireError("no output")
    text = ""
    for index, raw in enumerate(response.output):
        item = _item(raw)
        if item.type == "function_call":
            _complete(index, item, answer)
        for part in item.content or ():
            if part.refusal:
                answer.refuse()
            text += answer.add_text(part.text or part.refusal or "")
    if response.status in _ENDED:
        _end(response, answer)
    return text


def _end(response: shape.Response, answer: Answer) -> None:
    if response.usage is not None:
        answer.count(_usage(response.usage))
    reason = response.incomplete_details.reason if response.incomplete_details else None
    answer.end(_STOPS.get(reason or "", Stop.LENGTH if reason else Stop.END))
    said = json.dumps(response.output or [], ensure_ascii=False, separators=(",", ":"))
    answer.count_bytes(said)
    answer.send_back(said)


def _item(raw: dict[str, object]) -> shape.Item:
    try:
        return msgspec.convert(raw, shape.Item, strict=False)
    except msgspec.ValidationError as err:
        raise edge.WireError(str(err)) from err


def _usage(count: shape.TokenCount) -> Usage:
    details = count.input_tokens_details or shape.TokenDetails()
    return Usage(
        max(count.input_tokens or 0, 0),
        max(count.output_tokens or 0, 0),
        max(details.cached_tokens or 0, 0),
        max(details.cache_write_tokens or 0, 0),
    )
