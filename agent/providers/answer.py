"""An answer put together from its pieces, in whatever way a service cuts it.

A tool call is returned only when the service said that the answer has ended; half a call never is.
"""

import json
import re
import secrets
from dataclasses import dataclass

from agent.errors import ProviderRefused, TransientProviderError
from agent.messages import ToolCall
from agent.providers import wire
from agent.providers.base import ChatResponse, Stop, Usage

# Longer than any useful answer; text and arguments together
MAX_ANSWER_BYTES = 1024 * 1024
# More calls in one answer are a model gone astray
MAX_CALLS = 64
# Services take back only such names, and a name that they refuse would poison the conversation
MAX_NAME_CHARS = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_USABLE_ID = re.compile(r"[\x21-\x7e]{1,64}")

_STOPS = {
    "tool_calls": Stop.TOOLS,
    "function_call": Stop.TOOLS,
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "content_filter": Stop.REFUSED,
    "refusal": Stop.REFUSED,
}


@dataclass(slots=True)
class _PartialCall:
    """A call whose end has not been seen."""

    index: int | None
    call_id: str
    name: str
    arguments: list[str]


class Answer:
    """Collects the chunks of one answer."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._half = ""
        self._calls: list[_PartialCall] = []
        self._stop: Stop | None = None
        self._usage = Usage()
        self._is_whole = False
        self._is_refused = False
        self._size_bytes = 0

    @property
    def is_ended(self) -> bool:
        """The service said why it stopped: nothing but the token count can still come."""
        return self._is_whole or self._stop is not None

    def add(self, chunk: wire.Chunk) -> str:
        """Text to show now, maybe empty.

        Raises:
            TransientProviderError: the answer is beyond all measure.
        """
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        text = ""
        for choice in chunk.choices or ():
            # Others than the first were not asked for
            if not choice.index:
                text += self._add_choice(choice)
        return self._whole_characters(text)

    def response(self, max_tokens: int) -> ChatResponse:
        """The whole answer.

        Raises:
            TransientProviderError: a tool call is not complete.
            ProviderRefused: `max_tokens` left no room for an answer.
        """
        self._refuse_cut_calls(max_tokens)
        calls = tuple(self._named_calls())
        text = "".join(self._texts)
        stop = Stop.REFUSED if self._is_refused else self._stop or Stop.END
        if stop is Stop.LENGTH and not text and not calls:
            raise ProviderRefused(
                f"the model used up all {max_tokens} tokens before it said anything: "
                "set provider.max_tokens higher"
            )
        if stop is Stop.END and calls:
            stop = Stop.TOOLS
        return ChatResponse(text, calls, stop, self._usage)

    def place(self) -> str:
        """Where an answer that goes no further broke off, as the end of a sentence."""
        if self._calls:
            return f", in the middle of the call to {self._calls[-1].name or 'a tool'}"
        return ", in the middle of the answer" if self._texts else ""

    def _add_choice(self, choice: wire.Choice) -> str:
        if choice.finish_reason:
            self._stop = _STOPS.get(choice.finish_reason, Stop.END)
        if choice.message is not None:
            self._is_whole = True
        part = choice.delta or choice.message
        if part is None:
            return ""
        self._is_refused = self._is_refused or bool(part.refusal)
        for call in part.tool_calls or ():
            self._add_call(call)
        self._count(part.text)
        return part.text

    def _add_call(self, part: wire.CallPart) -> None:
        function = part.function or wire.FunctionPart()
        call = self._continued(part, function.name)
        if call is None:
            if len(self._calls) == MAX_CALLS:
                raise TransientProviderError(f"the model wrote more than {MAX_CALLS} tool calls")
            call = _PartialCall(part.index, "", "", [])
            self._calls.append(call)
        call.call_id = call.call_id or part.id or ""
        call.name = call.name or _usable_name(function.name)
        written = function.arguments or ""
        if not isinstance(written, str):
            written = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        self._count(written)
        call.arguments.append(written)

    def _continued(self, part: wire.CallPart, name: str | None) -> _PartialCall | None:
        """The call that this is a piece of; None begins another one."""
        last = next((call for call in reversed(self._calls) if call.index == part.index), None)
        if last is None or not name:
            return last
        # Some services number all calls alike, or none: a name with another id is another call
        if part.id:
            is_other = part.id != last.call_id and (part.index is None or last.call_id != "")
        else:
            is_other = part.index is None
        return None if is_other else last

    def _refuse_cut_calls(self, max_tokens: int) -> None:
        if not self._calls:
            return
        if not self.is_ended:
            raise TransientProviderError(f"the answer broke off{self.place()}")
        if self._stop is Stop.LENGTH and not _is_object("".join(self._calls[-1].arguments)):
            raise ProviderRefused(
                f"the answer was cut after {max_tokens} tokens{self.place()}: "
                "set provider.max_tokens higher"
            )

    def _named_calls(self) -> list[ToolCall]:
        taken: set[str] = set()
        calls: list[ToolCall] = []
        for call in self._calls:
            call_id = call.call_id
            if call_id in taken or not _USABLE_ID.fullmatch(call_id):
                call_id = f"call_{secrets.token_hex(8)}"
            taken.add(call_id)
            arguments = wire.joined_halves("".join(call.arguments))
            calls.append(ToolCall(call_id, call.name or "unnamed", arguments))
        return calls

    def _count(self, text: str) -> None:
        self._size_bytes += len(text.encode(errors="replace"))
        if self._size_bytes > MAX_ANSWER_BYTES:
            raise TransientProviderError(f"the answer is longer than {MAX_ANSWER_BYTES // 1024} KB")

    def _whole_characters(self, text: str) -> str:
        text, self._half = self._half + text, ""
        # The first half of a character whose second half is in the next chunk
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        text = wire.joined_halves(text)
        if text:
            self._texts.append(text)
        return text


def _usable_name(name: str | None) -> str:
    return _NOT_IN_NAMES.sub("_", name or "")[:MAX_NAME_CHARS]


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(wire.parse(arguments), dict)
    except wire.WireError:
        return False


def _usage(count: wire.TokenCount) -> Usage:
    return Usage(max(count.prompt_tokens or 0, 0), max(count.completion_tokens or 0, 0))
