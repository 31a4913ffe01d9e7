"""Check of a model service: does it speak as our wire format expects, whatever its model knows.

Six requests of a few tokens each, and a seventh that is too long where the window is small. Each
result is a line that somebody can report whose server nobody has met.
"""

import enum
import json
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from agent.errors import ContextOverflow, ProviderError, TransientProviderError
from agent.messages import ChatMessage, Effect, ToolCall, ToolSpec
from agent.passage import own
from agent.providers.base import (
    ChatRequest,
    ChatResponse,
    Provider,
    StopReason,
    TextDelta,
)
from agent.providers.prompted.constrained import answer_schema

# Enough for a call, too little for a thought of pages
MAX_TOKENS = 160
_FEW_TOKENS = 8
# A small model may write what its server cannot read, and do better the next time
TRIES = 3
# A larger window is not overfilled: it would take minutes on a small machine, and money on others
LARGEST_WINDOW_TOKENS = 32_768
_LIGHT = ToolSpec(
    "light_switch",
    own("Switch a light on or off."),
    {
        "type": "object",
        "properties": {"value": {"type": "string", "enum": ["on", "off"]}},
        "required": ["value"],
        "additionalProperties": False,
    },
    Effect.ACTUATE,
)
_CALL = ToolCall("call_1", _LIGHT.name, '{"value":"on"}')
_PROMPT = ChatMessage.system(own("You work a light with your tools. Answer in one short sentence."))
_ORDER = ChatMessage.user(own("Switch the light on."))
_COUNT = ChatMessage.user(own("Count from one to fifty in words."))
# At least eight tokens in every vocabulary
_LONG = ChatMessage.user(own("one two three four five six seven eight"))
_LONG_TOKENS = 8


class WireVerdict(enum.Enum):
    """Result of one request."""

    # As the wire format expects
    RIGHT = "right"
    # Another way than expected: worth a report
    DIFFERS = "differs"
    # The model did nothing that would tell, or the request was not made
    OPEN = "open"


class WireFinding(Struct, frozen=True):
    """One request and its result, as a line for people."""

    subject: str
    verdict: WireVerdict
    detail: str


_Step = Callable[[], Awaitable[tuple[WireVerdict, str]]]


class _Heard(Struct, frozen=True):
    response: ChatResponse
    pieces: int
    first_s: float


class ServiceCheck:
    """Asks one service, or a program in its place.

    Args:
        service: a program with the provider around it that describes tools in words.
        window_tokens: of the model; 0 where nobody says.
        has_grammar: the service is known to hold answers to a schema.
    """

    def __init__(
        self,
        service: Provider,
        model: str,
        window_tokens: int,
        *,
        has_grammar: bool = False,
        is_program: bool = False,
    ) -> None:
        self._service = service
        self._model = model
        self._window_tokens = window_tokens
        self._has_grammar = has_grammar
        self._is_program = is_program

    async def run(self, tell: Callable[[WireFinding], None]) -> tuple[WireFinding, ...]:
        """Return the findings; each is told as it is made."""
        found = []
        for subject, step in self._steps():
            finding = WireFinding(subject, *await _tried(step))
            tell(finding)
            found.append(finding)
        return tuple(found)

    def _steps(self) -> tuple[tuple[str, _Step], ...]:
        if self._is_program:
            # It has no wire: neither a list of models nor a limit nor a schema to hold an answer to
            return (
                ("answer", self._text),
                ("tools in words", self._tools),
                ("result of a tool", self._result),
                ("too long a conversation", self._too_long),
            )
        return (
            ("list of models", self._models),
            ("answer as a stream", self._answer),
            ("limit of tokens", self._limit),
            ("tools", self._tools),
            ("result of a tool", self._result),
            ("answer under a schema", self._schema),
            ("too long a conversation", self._too_long),
        )

    async def _text(self) -> tuple[WireVerdict, str]:
        heard = await self._ask(ChatRequest((_PROMPT, _COUNT), max_tokens=MAX_TOKENS))
        told = f"{heard.pieces} pieces, the first after {heard.first_s:.1f} s"
        is_there = bool(heard.response.text.strip())
        return (WireVerdict.RIGHT if is_there else WireVerdict.DIFFERS), told

    async def _models(self) -> tuple[WireVerdict, str]:
        names = await self._service.list_models()
        if not names:
            return WireVerdict.DIFFERS, "it lists none"
        # Ollama adds a tag to a name without one
        is_there = not {self._model, f"{self._model}:latest"}.isdisjoint(names)
        told = f"{len(names)} listed, {self._model} {'is' if is_there else 'is not'} among them"
        return (WireVerdict.RIGHT if is_there else WireVerdict.DIFFERS), told

    async def _answer(self) -> tuple[WireVerdict, str]:
        heard = await self._ask(ChatRequest((_PROMPT, _COUNT), max_tokens=MAX_TOKENS))
        usage = heard.response.usage
        told = (
            f"{heard.pieces} pieces, the first after {heard.first_s:.1f} s, counted as "
            f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
        )
        is_right = heard.pieces > 1 and usage.input_tokens > 0 < usage.output_tokens
        return (WireVerdict.RIGHT if is_right else WireVerdict.DIFFERS), told

    async def _limit(self) -> tuple[WireVerdict, str]:
        heard = await self._ask(ChatRequest((_PROMPT, _COUNT), max_tokens=_FEW_TOKENS))
        stop = heard.response.stop
        if stop is StopReason.LENGTH:
            return WireVerdict.RIGHT, f"ends at {_FEW_TOKENS} tokens and says why"
        return WireVerdict.DIFFERS, f"ends at {_FEW_TOKENS} tokens with {stop.value!r}"

    async def _tools(self) -> tuple[WireVerdict, str]:
        asked = ChatRequest((_PROMPT, _ORDER), (_LIGHT,), max_tokens=MAX_TOKENS)
        response = (await self._ask(asked)).response
        if any(call.name == _LIGHT.name for call in response.tool_calls):
            where = "as text, which is read" if self._is_program else "in the field for it"
            return WireVerdict.RIGHT, f"taken; the call comes {where}"
        if _LIGHT.name in response.text:
            return WireVerdict.RIGHT, "taken; the model writes its call as text, which is read"
        return WireVerdict.OPEN, "taken; the model called none"

    async def _result(self) -> tuple[WireVerdict, str]:
        done = ChatMessage.tool(_CALL, own('{"light": "on"}'))
        called = ChatMessage.assistant(own(""), (_CALL,))
        messages = (_PROMPT, _ORDER, called, done)
        response = (await self._ask(ChatRequest(messages, (_LIGHT,), max_tokens=64))).response
        if response.text.strip() or response.tool_calls:
            return WireVerdict.RIGHT, "taken and answered"
        return WireVerdict.DIFFERS, "taken, and the answer is empty"

    async def _schema(self) -> tuple[WireVerdict, str]:
        if not self._has_grammar:
            return WireVerdict.OPEN, "not asked: this service is not known for it"
        asked = ChatRequest(
            (_PROMPT, _ORDER), max_tokens=MAX_TOKENS, answer_schema=answer_schema((_LIGHT,))
        )
        response = (await self._ask(asked)).response
        if _fits(response):
            return WireVerdict.RIGHT, "the answer has its form"
        return WireVerdict.DIFFERS, "the answer has another form: leave tool_calls at 'auto'"

    async def _too_long(self) -> tuple[WireVerdict, str]:
        window = self._window_tokens
        if not 0 < window <= LARGEST_WINDOW_TOKENS:
            most = f"{LARGEST_WINDOW_TOKENS:,}"
            return WireVerdict.OPEN, f"not asked: set context_tokens, up to {most}, to try it"
        # Half as much again as fits
        many = (_LONG,) * (3 * window // (2 * _LONG_TOKENS))
        try:
            response = (await self._ask(ChatRequest(many, max_tokens=_FEW_TOKENS))).response
        except ContextOverflow as refused:
            return WireVerdict.RIGHT, f"refused as too long: {refused}"
        told = "an answer" if response.text.strip() else "an empty answer"
        return WireVerdict.DIFFERS, f"{told} instead of a refusal, at more than {window} tokens"

    async def _ask(self, request: ChatRequest) -> _Heard:
        began_s, first_s, pieces = time.monotonic(), 0.0, 0
        async for item in self._service.stream(request):
            if isinstance(item, TextDelta):
                first_s = first_s or time.monotonic() - began_s
                pieces += 1
                continue
            return _Heard(item, pieces, first_s)
        raise ProviderError("the stream ended without an answer")


async def _tried(step: _Step) -> tuple[WireVerdict, str]:
    """Return what a step says; a failure that may pass gets another try."""
    told = ""
    for _ in range(TRIES):
        try:
            return await step()
        except TransientProviderError as failure:
            told = str(failure)
        except ProviderError as failure:
            return WireVerdict.DIFFERS, str(failure)
    return WireVerdict.DIFFERS, told


def _fits(response: ChatResponse) -> bool:
    """Return true for an object of the schema, also for one that the token limit cut."""
    text = response.text.strip().removeprefix("```json").removesuffix("```").strip()
    try:
        told = json.loads(text)
    except ValueError:
        begins = text.replace(" ", "").replace("\n", "").startswith(('{"answer":"', '{"calls":['))
        return begins and response.stop is StopReason.LENGTH
    return isinstance(told, dict) and not {"answer", "calls"}.isdisjoint(told)
