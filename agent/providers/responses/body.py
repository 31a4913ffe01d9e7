"""Request in the form of OpenAI Responses: a flat list of messages, calls and results.

Nothing is kept at the service; what the model thought before a call comes back encrypted and is
sent again with the result.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from agent.messages import ChatMessage, Role, ToolSpec
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.wire import Sampling
from agent.tools.service_schema import FULL, cleaned

Json = dict[str, object]

_THOUGHTS = "reasoning.encrypted_content"


class ResponsesDialect(Struct, frozen=True):
    """The parameters that models differ in."""

    takes_temperature: bool = True
    # Models that do not think have nothing to send
    sends_thoughts: bool = True

    def after_refusal(self, complaint: str) -> "ResponsesDialect | None":
        """Return the dialect to try next; None if `complaint` names nothing that can change."""
        if "temperature" in complaint and self.takes_temperature:
            return structs.replace(self, takes_temperature=False)
        names_thoughts = "encrypted_content" in complaint or "include" in complaint
        if names_thoughts and self.sends_thoughts:
            return structs.replace(self, sends_thoughts=False)
        return None


def encode(request: ChatRequest, sampling: Sampling, dialect: ResponsesDialect, wire: str) -> bytes:
    """Encode the body; the same request gives the same bytes, so that its start can be cached."""
    body: Json = {"model": sampling.model}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in sorted(request.tools, key=lambda spec: spec.name)]
    system = [message.text for message in request.messages if message.role is Role.SYSTEM]
    if system:
        body["instructions"] = "\n\n".join(system)
    asked = (wire, sampling.model)
    body["input"] = [item for message in request.messages for item in _items(message, asked)]
    body["max_output_tokens"] = sampling.max_tokens
    if dialect.takes_temperature:
        body["temperature"] = sampling.temperature
    if dialect.sends_thoughts:
        body["include"] = [_THOUGHTS]
    body |= {"store": False, "stream": True}
    return service_json.encode(body)


def _tool(spec: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": cleaned(spec.parameters, FULL),
        # Its strict form makes every argument required; absent means something to our tools
        "strict": False,
    }


def _items(message: ChatMessage, asked: tuple[str, str]) -> Iterator[Json]:
    match message.role:
        case Role.USER:
            yield {"role": "user", "content": list(_parts(message))}
        case Role.ASSISTANT:
            yield from _said(message, asked)
        case Role.TOOL:
            yield {
                "type": "function_call_output",
                "call_id": message.call_id,
                "output": message.text,
            }


def _parts(message: ChatMessage) -> Iterator[Json]:
    if message.text or not message.images:
        yield {"type": "input_text", "text": message.text}
    for image in message.images:
        url = f"data:{image.media_type};base64,{image.data_base64}"
        # Documented as required, though it says what is usual
        yield {"type": "input_image", "detail": "auto", "image_url": url}


def _said(message: ChatMessage, asked: tuple[str, str]) -> Iterator[Json]:
    echo = message.echo
    if echo is not None and (echo.wire, echo.model) == asked:
        items = service_json.parse(echo.content_json)
        # Proxies end a stream with fewer items than it had, or with none
        if isinstance(items, list) and _called_in(items).issuperset(
            call.call_id for call in message.tool_calls
        ):
            yield from items
            return
    if message.text:
        # Its parts would need the id that they once had
        yield {"role": "assistant", "content": message.text}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": service_json.encode(service_json.object_in(call.arguments_json)).decode(),
        }


def _called_in(items: Sequence[object]) -> set[object]:
    calls = [one for one in items if isinstance(one, dict) and one.get("type") == "function_call"]
    return {call.get("call_id") for call in calls}
