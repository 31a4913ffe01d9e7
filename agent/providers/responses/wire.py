"""OpenAI Responses as a wire format: typed events, items that are sent back in tool loops."""

import json

import msgspec

from agent.providers import failures, service_json
from agent.providers.answer import AnswerBuilder, Note
from agent.providers.base import Capabilities, ChatRequest, StopReason, Usage
from agent.providers.responses import body
from agent.providers.responses.body import ResponsesDialect
from agent.providers.wire import Sampling, ToldError, WireFormat, WireRequest


class TokenDetails(msgspec.Struct, frozen=True):
    """Breakdown of the tokens that were sent."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class ResponsesTokenCount(msgspec.Struct, frozen=True):
    """Counts of the service."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: TokenDetails | None = None


class ResponsesContent(msgspec.Struct, frozen=True):
    """A part of a message."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class ResponsesItem(msgspec.Struct, frozen=True):
    """Output of the model: a message, a call, thoughts."""

    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[ResponsesContent] | None = None


class Incomplete(msgspec.Struct, frozen=True):
    """Reason for an incomplete answer."""

    reason: str | None = None


class Response(msgspec.Struct, frozen=True):
    """Answer as far as it has come; whole at the end.

    Items are kept as they came too: they are sent back word for word.
    """

    status: str | None = None
    output: list[dict[str, object]] | None = None
    usage: ResponsesTokenCount | None = None
    incomplete_details: Incomplete | None = None
    error: object = None


class ResponsesEvent(msgspec.Struct, frozen=True):
    """One event of a stream."""

    type: str = ""
    output_index: int = 0
    delta: str | None = None
    item: ResponsesItem | None = None
    response: Response | None = None
    # Of the event `error`: beside its type, as documented, or together, as the service sends it
    code: str | None = None
    message: str | None = None
    param: str | None = None
    error: object = None


class ResponsesModel(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class ResponsesModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[ResponsesModel]


_STOPS = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSED}
_ENDED = frozenset({"completed", "incomplete"})


class ResponsesWire(WireFormat[ResponsesDialect]):
    """`POST responses`, streamed and not stored."""

    name = "responses"

    def first_dialect(self, host: str, model: str) -> ResponsesDialect:
        return ResponsesDialect()

    def other_dialect(
        self, dialect: ResponsesDialect, refusal: failures.ServiceRefusal
    ) -> ResponsesDialect | None:
        return dialect.after_refusal(failures.named_parameter(refusal.body))

    def write(
        self, request: ChatRequest, sampling: Sampling, dialect: ResponsesDialect
    ) -> WireRequest:
        return WireRequest("responses", body.encode(request, sampling, dialect, self.name))

    def read(self, event: str, answer: AnswerBuilder) -> str:
        taken = service_json.decode(event, ResponsesEvent)
        if taken.type:
            return _take(taken, answer)
        return _take_whole(service_json.decode(event, Response), answer)

    def read_models(self, body: str) -> list[str]:
        return [model.id for model in service_json.decode(body, ResponsesModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True, streaming=True, vision=True, caching=True, thinking=True
        )


def _take(event: ResponsesEvent, answer: AnswerBuilder) -> str:
    item = event.item or ResponsesItem()
    match event.type:
        case "error":
            beside = {"message": event.message, "code": event.code, "param": event.param}
            raise ToldError(event.error or beside)
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
            _end(event.response or Response(), answer)
            answer.close()
    return ""


def _add_arguments(index: int, piece: str, answer: AnswerBuilder) -> None:
    if index in answer.notes:
        answer.notes[index].add("arguments", piece)
        answer.add_call(index, "", "", piece)


def _complete(index: int, item: ResponsesItem, answer: AnswerBuilder) -> None:
    """Take the whole item again, in case its pieces did not come."""
    note = answer.notes.get(index)
    if note is None:
        answer.add_call(index, item.call_id or "", item.name or "", item.arguments or "")
    elif not note.text("arguments"):
        answer.add_call(index, "", "", item.arguments or "")


def _take_whole(response: Response, answer: AnswerBuilder) -> str:
    if response.error is not None or response.status == "failed":
        raise ToldError(response.error)
    if response.output is None:
        raise service_json.WireError("no output")
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


def _end(response: Response, answer: AnswerBuilder) -> None:
    if response.usage is not None:
        answer.count(_usage(response.usage))
    reason = response.incomplete_details.reason if response.incomplete_details else None
    answer.end(_STOPS.get(reason or "", StopReason.LENGTH if reason else StopReason.END))
    said = json.dumps(response.output or [], ensure_ascii=False, separators=(",", ":"))
    answer.count_bytes(said)
    answer.send_back(said)


def _item(raw: dict[str, object]) -> ResponsesItem:
    try:
        return msgspec.convert(raw, ResponsesItem, strict=False)
    except msgspec.ValidationError as err:
        raise service_json.WireError(str(err)) from err


def _usage(count: ResponsesTokenCount) -> Usage:
    details = count.input_tokens_details or TokenDetails()
    return Usage(
        max(count.input_tokens or 0, 0),
        max(count.output_tokens or 0, 0),
        max(details.cached_tokens or 0, 0),
        max(details.cache_write_tokens or 0, 0),
    )
