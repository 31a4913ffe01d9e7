"""Request in Gemini's form: contents of parts, alternating roles, results of tools first.

A call has to come back with the signature of the thinking that led to it. Calls whose signature
is not known any more, or that another model made, carry a word that the service takes instead.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from msgspec import Struct, structs

from agent.messages import ChatMessage, Role, ToolCall, ToolSpec
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.wire import Sampling
from agent.tools.service_schema import FULL, GEMINI_PLAIN, cleaned

Json = dict[str, object]

# The documented word for "there is no signature, do not look for one"
NO_SIGNATURE = "skip_thought_signature_validator"
# What stands where a person sent nothing but blanks: a content without parts is refused
_NOTHING = "(nothing)"
# These know no signatures, or do not ask for them
_UNSIGNED = re.compile(r"gemini-(1|2)[.-]|gemma")


class GeminiDialect(Struct, frozen=True):
    """Differences between models, and between services that pass requests on to them."""

    takes_json_schema: bool = True
    takes_temperature: bool = True
    takes_system: bool = True
    takes_ids: bool = True
    wants_signatures: bool = True

    @classmethod
    def of_model(cls, model: str) -> "GeminiDialect":
        return cls(wants_signatures=_UNSIGNED.match(model.removeprefix("models/")) is None)

    def after_refusal(self, complaint: str) -> "GeminiDialect | None":
        """Return the dialect to try next; None if `complaint` names nothing that can change."""
        said = complaint.lower().replace("_", " ")
        if "thought signature" in said:
            is_missing = "missing" in said
            if is_missing != self.wants_signatures:
                return structs.replace(self, wants_signatures=is_missing)
            return None
        for words, name in (
            (("parametersjsonschema", "parameters json schema"), "takes_json_schema"),
            (("developer instruction", "systeminstruction", "system instruction"), "takes_system"),
            (('name "id"',), "takes_ids"),
            (("temperature",), "takes_temperature"),
        ):
            if any(word in said for word in words) and getattr(self, name):
                return structs.replace(self, **{name: False})
        return None


def encode(request: ChatRequest, sampling: Sampling, dialect: GeminiDialect, wire: str) -> bytes:
    """Encode the body; the same request gives the same bytes, so that its start can be cached."""
    messages = request.messages if dialect.takes_system else tuple(map(_spoken, request.messages))
    body: Json = {}
    if system := [{"text": m.text} for m in messages if m.role is Role.SYSTEM and m.text.strip()]:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        tools = sorted(request.tools, key=lambda spec: spec.name)
        body["tools"] = [{"functionDeclarations": [_tool(spec, dialect) for spec in tools]}]
    body["contents"] = _Conversation(dialect, wire, sampling.model).contents(messages)
    config: Json = {"maxOutputTokens": sampling.max_tokens}
    if dialect.takes_temperature:
        config["temperature"] = sampling.temperature
    body["generationConfig"] = config
    return service_json.encode(body)


def _spoken(message: ChatMessage) -> ChatMessage:
    """Put the system prompt in a person's message, for models that take none."""
    return ChatMessage.user(message.words) if message.role is Role.SYSTEM else message


def _tool(spec: ToolSpec, dialect: GeminiDialect) -> Json:
    declared: Json = {"name": spec.name, "description": spec.description}
    rules = FULL if dialect.takes_json_schema else GEMINI_PLAIN
    schema = cleaned(spec.parameters, rules)
    # An object without fields is refused: who takes no arguments says nothing of them
    if schema.get("properties"):
        declared["parametersJsonSchema" if dialect.takes_json_schema else "parameters"] = schema
    return declared


class _Conversation:
    """Conversation to send; an answer to a call has an id only if the call had it."""

    def __init__(self, dialect: GeminiDialect, wire: str, model: str) -> None:
        self._dialect = dialect
        self._wire = wire
        self._model = model
        self._sent_ids: set[str] = set()

    def contents(self, messages: Sequence[ChatMessage]) -> list[Json]:
        said = [message for message in messages if _says_something(message)]
        contents: list[Json] = []
        for is_model, together in groupby(said, lambda message: message.role is Role.ASSISTANT):
            if is_model:
                parts = [part for message in together for part in self._answer(message)]
            else:
                parts = self._asked(list(together))
            contents.append({"role": "model" if is_model else "user", "parts": parts})
        return contents

    def _asked(self, messages: Sequence[ChatMessage]) -> list[Json]:
        results = [self._result(message) for message in messages if message.role is Role.TOOL]
        persons = [message for message in messages if message.role is Role.USER]
        said = [part for message in persons for part in _words(message)]
        return [*results, *said] or [{"text": _NOTHING}]

    def _result(self, message: ChatMessage) -> Json:
        key = "error" if message.is_error else "output"
        result: Json = {"name": message.tool_name, "response": {key: message.text}}
        if message.call_id in self._sent_ids:
            result["id"] = message.call_id
        return {"functionResponse": result}

    def _answer(self, message: ChatMessage) -> list[Json]:
        return self._echoed(message) or self._rewritten(message)

    def _echoed(self, message: ChatMessage) -> list[Json]:
        echo = message.echo
        if echo is None or (echo.wire, echo.model) != (self._wire, self._model):
            return []
        with suppress(service_json.WireError):
            parts = service_json.parse(echo.content_json)
            if isinstance(parts, list):
                self._sent_ids.update(_ids_in(parts))
                return parts
        return []

    def _rewritten(self, message: ChatMessage) -> list[Json]:
        text = message.text.rstrip()
        words: list[Json] = [{"text": text}] if text else []
        calls = [self._call(call) for call in message.tool_calls]
        if calls and self._dialect.wants_signatures:
            # Of calls that were made together only the first one is signed
            calls[0]["thoughtSignature"] = NO_SIGNATURE
        return [*words, *calls]

    def _call(self, call: ToolCall) -> Json:
        written: Json = {"name": call.name, "args": service_json.object_in(call.arguments_json)}
        if self._dialect.takes_ids:
            written["id"] = call.call_id
            self._sent_ids.add(call.call_id)
        return {"functionCall": written}


def _says_something(message: ChatMessage) -> bool:
    if message.role is Role.ASSISTANT:
        return bool(message.text.strip() or message.tool_calls)
    return message.role is not Role.SYSTEM


def _words(message: ChatMessage) -> Iterator[Json]:
    for image in message.images:
        yield {"inlineData": {"mimeType": image.media_type, "data": image.data_base64}}
    if message.text.strip():
        yield {"text": message.text}


def _ids_in(parts: Sequence[object]) -> Iterator[str]:
    for part in parts:
        call = part.get("functionCall") if isinstance(part, dict) else None
        if isinstance(call, dict) and "id" in call:
            yield str(call["id"])
