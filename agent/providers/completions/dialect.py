"""Dialect of one model, learned from its refusals, and the request in that form.

The services agree on the shape of a request and differ in a few parameters; each refusal that
names one is answered by one change, which is remembered.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from agent.messages import ChatMessage, Image, Role, ToolCall, ToolSpec
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.call_ids import SHORT, renamed
from agent.providers.once import Once
from agent.providers.wire import Sampling
from agent.tools.service_schema import FULL, cleaned

Json = dict[str, object]

# In an echo: fields of calls that go back, by the place of a call in its message
OF_CALLS = "of_calls"
# Where an answer's thoughts go back
THOUGHTS = "reasoning_content"
# What stands for thoughts that are not known any more: the least that counts as some
_NO_THOUGHTS = " "
OFFICIAL_HOST = "api.openai.com"
# Google's documented word for "there is no signature, do not look for one", in a call
UNSIGNED: Json = {
    "extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}
}

# Looked up here once, not for each message of each request: a member of an enum is slow to find
_SYSTEM, _ASSISTANT = Role.SYSTEM, Role.ASSISTANT
# A history is sent again with every request: the short messages of a few conversations are kept as
# they are written. A long one takes no more time for each of its bytes
MOST_KEPT_MESSAGES, LONGEST_KEPT_BYTES = 2048, 1024

# The parameter itself is refused, not its value: a limit that is too high is for people to change
_REFUSAL = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra|not (permitted|allowed)"
    r"|deprecated|only the default",
    re.IGNORECASE,
)
# Whatever is wrong with it: the model can be asked in words
_NO_SCHEMA = re.compile(
    r"response_format|json_schema|grammar|guided|structured output", re.IGNORECASE
)
# Of calls in the history that another service made; several rules, of which one id keeps all
_NO_ID = re.compile(
    r"tool call id|tool_call_id|tool_calls\[[0-9]+\]\.id|tool_use(?:\.id|` ids)", re.IGNORECASE
)
# Google's of the same, by its address of this format
_NO_SIGNATURE = re.compile(r"missing a thought.signature", re.IGNORECASE)

# Kimi's and DeepSeek's, of calls in the history: thoughts are kept only within their turn
_NO_REASONING = re.compile(
    rf"missing.{{0,10}}{THOUGHTS}|{THOUGHTS}.{{0,60}}(?:missing|must be passed back)",
    re.IGNORECASE | re.DOTALL,
)


class CompletionsDialect(Struct, frozen=True):
    """Parameters that models differ in."""

    tokens_key: str = "max_tokens"
    takes_temperature: bool = True
    # None leaves the parameter out
    effort: str | None = None
    takes_stream_options: bool = True
    takes_schema: bool = True
    takes_any_id: bool = True
    # Of calls made together only the first one is signed
    wants_signatures: bool = False
    wants_thoughts: bool = False

    @classmethod
    def of_host(cls, host: str) -> "CompletionsDialect":
        """Return the first dialect to try: OpenAI's own service knows only the newer name."""
        return cls(tokens_key="max_completion_tokens") if host == OFFICIAL_HOST else cls()

    def after_refusal(self, complaint: str) -> "CompletionsDialect | None":
        """Return the dialect to try next; None if `complaint` names nothing that can change."""
        if self.takes_schema and _NO_SCHEMA.search(complaint):
            return structs.replace(self, takes_schema=False)
        if self.takes_any_id and _NO_ID.search(complaint):
            return structs.replace(self, takes_any_id=False)
        if not self.wants_signatures and _NO_SIGNATURE.search(complaint):
            return structs.replace(self, wants_signatures=True)
        if not self.wants_thoughts and _NO_REASONING.search(complaint):
            return structs.replace(self, wants_thoughts=True)
        if self.takes_temperature and "temperature" in complaint.lower():
            # Its value, too: Kimi's "only 1 is allowed", GLM's and Mistral's ranges
            return structs.replace(self, takes_temperature=False)
        return self._without(complaint) if _REFUSAL.search(complaint) else None

    def _without(self, complaint: str) -> "CompletionsDialect | None":
        """Return the dialect without the parameter that a complaint names."""
        if "max_tokens" in complaint or "max_completion_tokens" in complaint:
            other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
            return structs.replace(self, tokens_key=other[self.tokens_key])
        if "reasoning_effort" in complaint and self.effort is None:
            return structs.replace(self, effort="none")
        if "stream_options" in complaint and self.takes_stream_options:
            return structs.replace(self, takes_stream_options=False)
        return None


def encode(
    request: ChatRequest, sampling: Sampling, dialect: CompletionsDialect, wire: str = ""
) -> bytes:
    """Encode the body; the same request gives the same bytes, so that its start can be cached.

    Args:
        wire: the name in the echoes that are sent back.
    """
    body: Json = {"model": sampling.model}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in sorted(request.tools, key=_name_of)]
        if dialect.effort is not None:
            body["reasoning_effort"] = dialect.effort
    known = request.messages
    if not dialect.takes_any_id:
        known = tuple(renamed(known, SHORT))
    body["messages"] = _messages(known, (wire, sampling.model), dialect)
    body[dialect.tokens_key] = sampling.max_tokens
    if dialect.takes_temperature:
        body["temperature"] = sampling.temperature
    if request.answer_schema is not None and dialect.takes_schema:
        held = {"name": "answer", "schema": request.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": held}
    body["stream"] = True
    if dialect.takes_stream_options:
        body["stream_options"] = {"include_usage": True}
    return service_json.encode(body)


def _name_of(spec: ToolSpec) -> str:
    return spec.name


def _tool(spec: ToolSpec) -> Json:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": cleaned(spec.parameters, FULL),
        },
    }


def _messages(
    messages: Sequence[ChatMessage], asked: tuple[str, str], dialect: CompletionsDialect
) -> list[Json | msgspec.Raw]:
    """Return messages with one system message at most: local models' templates refuse a second."""
    system = [message.text for message in messages if message.role is _SYSTEM]
    said = [message for message in messages if message.role is not _SYSTEM]
    first: list[Json] = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    written = _written.each(said)
    for at, message in enumerate(said):
        is_unsigned = dialect.wants_signatures and message.tool_calls
        is_thoughtless = dialect.wants_thoughts and message.role is _ASSISTANT
        if message.echo is not None or is_unsigned or is_thoughtless:
            wired = _with_echo(message, asked)
            if is_thoughtless:
                wired[THOUGHTS] = wired.get(THOUGHTS) or _NO_THOUGHTS
            if is_unsigned:
                wired["tool_calls"][0] = UNSIGNED | wired["tool_calls"][0]
            written[at] = msgspec.Raw(service_json.encode(wired))
    return [*first, *written]


def _message(message: ChatMessage) -> Json:
    wired: Json = {"role": message.role.value, "content": message.text}
    if message.images:
        text: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
        wired["content"] = [*text, *(_picture(image) for image in message.images)]
    if message.call_id:
        wired["tool_call_id"] = message.call_id
    if message.tool_calls:
        # Blanks alone are refused by what is behind many a gateway
        wired["content"] = message.text if message.text.strip() else None
        wired["tool_calls"] = [_call(call) for call in message.tool_calls]
    return wired


_written: Once[ChatMessage, msgspec.Raw] = Once(
    lambda message: msgspec.Raw(service_json.encode(_message(message))),
    MOST_KEPT_MESSAGES,
    lambda written: len(written) <= LONGEST_KEPT_BYTES,
)


def _with_echo(message: ChatMessage, asked: tuple[str, str]) -> dict[str, Any]:
    """Send back the service's own content within the turn that is going on."""
    wired: dict[str, Any] = _message(message)
    echo = message.echo
    if echo is not None and (echo.wire, echo.model) == asked:
        back = service_json.object_in(echo.content_json)
        of_calls = back.pop(OF_CALLS, None)
        wired |= back
        if isinstance(of_calls, dict):
            calls = enumerate(message.tool_calls)
            wired["tool_calls"] = [_call(call) | of_calls.get(str(at), {}) for at, call in calls]
    return wired


def _picture(image: Image) -> Json:
    url = f"data:{image.media_type};base64,{image.data_base64}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": _valid(call.arguments_json)}
    return {"id": call.call_id, "type": "function", "function": function}


def _valid(arguments_json: str) -> str:
    """Return arguments as valid JSON: some services refuse a conversation for one bad call."""
    try:
        return arguments_json if isinstance(service_json.parse(arguments_json), dict) else "{}"
    except service_json.WireError:
        return "{}"
