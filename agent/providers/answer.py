"""Answer collected from its pieces, in whatever way a service cuts it.

A tool call is returned only when the service said that the answer has ended; half a call never is,
nor is one of an answer that was withheld.
"""

import re
import secrets

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import ContextOverflow, ProviderRefused, TransientProviderError
from agent.messages import Echo, ToolCall
from agent.providers import service_json
from agent.providers.base import ChatResponse, StopReason, Usage

# Longer than any useful answer; text and arguments together
MAX_ANSWER_BYTES = 1024 * 1024
# Of English; other scripts take fewer bytes for one, which makes an estimate of them too low
BYTES_PER_TOKEN = 4
# A turn runs 64 of them and says so of the others; more are a model gone astray
MAX_CALLS = 256
# Services take back only such names, and a name that they refuse would poison the conversation
MAX_NAME_CHARS = 64
# Modules that models put before a tool's name
MODULES = ("functions.", "default_api.", "tools.")
# Of an answer that ended where the window does
FULL_WINDOW = "the conversation fills the model's window and leaves no room for the answer"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_USABLE_ID = re.compile(r"[\x21-\x7e]{1,64}")


def bare(tool: str) -> str:
    """Return a tool's name without the module that some models put before it."""
    module = next((one for one in MODULES if tool.startswith(one)), "")
    return tool.removeprefix(module)


class _PartialCall(Struct):
    """Tool call whose end has not come yet."""

    index: int | None
    call_id: str
    name: str
    arguments: list[str]


class Note:
    """State of one part of an answer, kept by a wire format until its end."""

    def __init__(self, kind: str = "", **texts: str) -> None:
        self.kind = kind
        # In pieces, joined once: thoughts of a megabyte come in a hundred thousand of them
        self._pieces = {name: [text] for name, text in texts.items()}

    def has(self, name: str) -> bool:
        return name in self._pieces

    def add(self, name: str, piece: str) -> None:
        self._pieces.setdefault(name, []).append(piece)

    def text(self, name: str) -> str:
        return "".join(self._pieces.get(name, ()))


class AnswerBuilder:
    """Collects the pieces of one answer.

    Args:
        wire: the format that it comes in.
        model: whom it was asked of.
    """

    def __init__(self, wire: str = "", model: str = "") -> None:
        self._wire = wire
        self._model = model
        self._texts: list[str] = []
        self._half = ""
        # Blanks before the first word: alone they are no text, and most services refuse them back
        self._blanks = ""
        self._calls: list[_PartialCall] = []
        self._stop: StopReason | None = None
        self.usage = Usage()
        self._is_refused = False
        self._is_full = False
        self._size_bytes = 0
        # What the model wrote: of that, `_size_bytes` has some twice
        self._written_bytes = 0
        self._echo_json = ""
        self._thoughts: list[str] = []
        # By the number of the part that they are about
        self.notes: dict[int, Note] = {}
        # Nothing at all comes after this: the rest of the stream need not be read
        self.is_closed = False
        # The service said why it stopped: nothing but the token count can still come
        self.is_ended = False

    @property
    def is_silent(self) -> bool:
        """Return true if nothing has come that is of an answer."""
        return not (self.is_ended or self._texts or self._calls or self._thoughts)

    def add_text(self, text: str) -> str:
        """Keep a piece of text; return the part that can be shown now, in whole characters.

        Raises:
            TransientProviderError: the answer is beyond all measure.
        """
        self.count_bytes(text)
        self._wrote(text)
        text, self._half = self._half + text, ""
        # The first half of a character whose second half is in the next piece
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        text = self._with_blanks(service_json.joined_halves(text))
        if text:
            self._texts.append(text)
        return text

    def add_call(self, index: int | None, call_id: str, name: str, arguments: str) -> int:
        """Keep a tool call or a piece of one; pieces with the same `index` belong together.

        Returns:
            Which of the calls it belongs to, from 0.

        Raises:
            TransientProviderError: the answer is beyond all measure.
        """
        call = self._continued(index, call_id, name, arguments)
        if call is None:
            if len(self._calls) == MAX_CALLS:
                raise TransientProviderError(f"the model wrote more than {MAX_CALLS} tool calls")
            call = _PartialCall(index, "", "", [])
            self._calls.append(call)
        call.call_id = call.call_id or call_id
        call.name = call.name or _NOT_IN_NAMES.sub("_", bare(name))[:MAX_NAME_CHARS]
        self.count_bytes(arguments)
        self._wrote(arguments)
        call.arguments.append(arguments)
        return next(at for at, one in enumerate(self._calls) if one is call)

    def count(self, usage: Usage) -> None:
        self.usage = usage

    def cost(self) -> Usage:
        """Return the tokens so far: those that the service has counted, or at least what it sent.

        Most count them at the end alone, which an answer that breaks off never reaches.
        """
        written = -(-self._written_bytes // BYTES_PER_TOKEN)
        return replace(self.usage, output_tokens=max(self.usage.output_tokens, written))

    def count_bytes(self, text: str) -> None:
        """Count bytes of the answer, wherever they are kept.

        Raises:
            TransientProviderError: the answer is beyond all measure.
        """
        self._size_bytes += len(text.encode(errors="replace"))
        if self._size_bytes > MAX_ANSWER_BYTES:
            raise TransientProviderError(f"the answer is longer than {MAX_ANSWER_BYTES // 1024} KB")

    def answered_by(self, model: str) -> None:
        """Note the service's name for the model that answers."""
        self._model = model

    def send_back(self, content_json: str) -> None:
        """Note content that the service wants back while its calls are answered; count it first."""
        self._echo_json = content_json

    def think(self, piece: str) -> None:
        """Keep a piece of the model's thoughts, for those who like to look; count it first."""
        self._wrote(piece)
        self._thoughts.append(piece)

    def refuse(self) -> None:
        """Note the text that says why there is no answer."""
        self._is_refused = True

    def fill(self) -> None:
        """Note that the answer ended where the model's window does, not at its own limit."""
        self._is_full = True

    def end(self, stop: StopReason | None = None) -> None:
        """Note that the service has sent all; `stop` if it says why."""
        self.is_ended = True
        self._stop = stop or self._stop

    def close(self) -> None:
        self.is_closed = True

    def response(self, max_tokens: int) -> ChatResponse:
        """Return the whole answer.

        Raises:
            TransientProviderError: a tool call is not complete.
            ProviderRefused: `max_tokens` left no room for an answer.
            ContextOverflow: the conversation left none.
        """
        # Who wrote all that was allowed was stopped by that
        self._is_full &= self.usage.output_tokens < max_tokens
        stop = StopReason.REFUSED if self._is_refused else self._stop or StopReason.END
        if stop is StopReason.REFUSED:
            # Withheld in the middle of a call, it has no arguments and looks whole
            self._calls.clear()
        self._refuse_cut_calls(max_tokens)
        calls = tuple(self._named_calls())
        text = "".join(self._texts)
        if stop is StopReason.LENGTH and not text and not calls:
            self._refuse_full()
            raise ProviderRefused(
                f"the model used all {max_tokens} tokens before it answered: "
                "set provider.max_tokens higher"
            )
        if stop is StopReason.END and calls:
            stop = StopReason.TOOLS
        return ChatResponse(
            text,
            calls,
            stop,
            self.usage,
            echo=self._echo(calls),
            model=self._model,
            thoughts="".join(self._thoughts),
            was_shortened=self._is_full,
        )

    def place(self) -> str:
        """Return where an incomplete answer broke off, as the end of a sentence."""
        if self._calls:
            return f", in the middle of the call to {self._calls[-1].name or 'a tool'}"
        return ", in the middle of the answer" if self._texts else ""

    def _with_blanks(self, text: str) -> str:
        """Hold blanks back until there is a word behind them."""
        if self._texts:
            return text
        text, self._blanks = self._blanks + text, ""
        if text.isspace():
            text, self._blanks = "", text
        return text

    def _wrote(self, text: str) -> None:
        self._written_bytes += len(text.encode(errors="replace"))

    def _continued(
        self, index: int | None, call_id: str, name: str, arguments: str
    ) -> _PartialCall | None:
        """Return the call that this is a piece of; None begins another one."""
        last = next((call for call in reversed(self._calls) if call.index == index), None)
        if last is None or not name:
            return last
        # Some services number all calls alike, or none: a name with another id is another call
        if call_id:
            is_other = call_id != last.call_id and (index is None or last.call_id != "")
        else:
            # Gateways to Gemini give no ids either: a name with arguments behind whole ones
            begins = arguments.lstrip().startswith("{")
            is_other = index is None or (begins and _is_object("".join(last.arguments)))
        return None if is_other else last

    def _refuse_cut_calls(self, max_tokens: int) -> None:
        if not self._calls:
            return
        if not self.is_ended:
            raise TransientProviderError(f"the answer broke off{self.place()}")
        if self._stop is StopReason.LENGTH and not _is_object("".join(self._calls[-1].arguments)):
            self._refuse_full()
            raise ProviderRefused(
                f"the answer was cut after {max_tokens} tokens{self.place()}: "
                "set provider.max_tokens higher"
            )

    def _refuse_full(self) -> None:
        if self._is_full:
            raise ContextOverflow(FULL_WINDOW)

    def _named_calls(self) -> list[ToolCall]:
        taken: set[str] = set()
        calls: list[ToolCall] = []
        for call in self._calls:
            call_id = call.call_id
            if call_id in taken or not _USABLE_ID.fullmatch(call_id):
                call_id = f"call_{secrets.token_hex(8)}"
            taken.add(call_id)
            # A tool without arguments may come with no piece of them at all
            arguments = service_json.joined_halves("".join(call.arguments)) or "{}"
            calls.append(ToolCall(call_id, call.name or "unnamed", arguments))
        return calls

    def _echo(self, calls: tuple[ToolCall, ...]) -> Echo | None:
        # Answers to calls are matched by id: with a new one the old words are no use
        is_renamed = any(
            said.call_id not in {"", call.call_id}
            for said, call in zip(self._calls, calls, strict=True)
        )
        if not calls or not self._echo_json or is_renamed:
            return None
        return Echo(self._wire, self._model, self._echo_json)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(service_json.parse(arguments), dict)
    except service_json.WireError:
        return False
