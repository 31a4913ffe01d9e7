"""Base of all tools: typed arguments, an effect, and a result that is never an exception.

A tool does not decide whether it may run: the gate does, before `execute` is reached.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from agent.errors import BadArguments
from agent.memory.base import FROM_CHAT
from agent.messages import Address, Effect, Provenance, ToolResult, ToolSpec
from agent.passage import Fact, Passage, echo, fields, outside, own
from agent.security.access import AT_THE_DEVICE, Audience
from agent.security.act import NOTHING, Dependence, Pattern
from agent.security.shares import NOTHING_SHARED, Disclosure, Shares, owners
from agent.tools.schema import parameters_of

if TYPE_CHECKING:
    from agent.tools.inquiry import Inquiry
    from agent.tools.nested_turn import NestedTurn

# Longest arguments a model may write: as long as a whole answer may be
MAX_ARGUMENTS_BYTES = 1024 * 1024


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every tool's arguments; its fields become the schema that a model sees."""

    def by_name(self) -> dict[str, object]:
        """Return the arguments by name, as the owner's rules see them."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


class NoArguments(Arguments, frozen=True):
    """Empty arguments, for tools that take none."""


def denies_none(_tool: str, _url: str) -> bool:
    """Return false: where no rule compares URLs, none is refused."""
    return False


class ToolContext(Struct, frozen=True):
    """Circumstances in which a tool runs.

    Args:
        person: whose memories and files are meant; the same person on every channel.
        provenance: the lowest trust of anything read in this turn so far.
        source: where the least trusted of it came from.
        nested: the way to another agent within this turn; None where there is none.
        inquire: the way to the person's own words; None where there is none.
        place: where the conversation is; None in a job's own.
        is_group: others are there too.
        audience: everybody who reads the answer.
        shares: what the owner says is shared.
        holds_private: something that is not everybody's was read for this turn.
        is_spoken: the order was said aloud.
        follows_redirects: no rule of the owner compares URLs, which a redirect would get around.
        denies_url: a rule of the owner refuses a URL to the tool of that name.
    """

    conversation: str
    person: str
    provenance: Provenance
    source: str = FROM_CHAT
    nested: "NestedTurn | None" = None
    inquire: "Inquiry | None" = None
    place: Address | None = None
    is_group: bool = False
    audience: Audience = AT_THE_DEVICE
    shares: Shares = NOTHING_SHARED
    holds_private: bool = False
    is_spoken: bool = False
    follows_redirects: bool = True
    denies_url: Callable[[str, str], bool] = denies_none

    @property
    def group(self) -> str | None:
        """Return the group of the conversation; None outside a group."""
        return self.place.chat if self.place is not None and self.is_group else None


class Forecast(Struct, frozen=True):
    """Forecast of a call for the person who is asked: words, and a picture where there is one.

    Args:
        trust: of the least trusted word, where a model reads it.
    """

    words: str
    picture: Path | None = None
    trust: Provenance = Provenance.SENSOR

    @property
    def passage(self) -> Passage:
        return outside(self.words, self.trust, "the board" if self.trust < Provenance.OWNER else "")


A = TypeVar("A", bound=Arguments)


class Tool(ABC, Generic[A]):
    """A tool that a model may call.

    Args:
        reads: the least trusted words that any result or failure of it may carry; OWNER where it
            reads nothing from outside. Every tool declares it: there is no default.
    """

    name: str
    description: Passage
    effect: Effect
    reads: Provenance
    arguments_type: type[A]
    # It shows parts of a whole that it can go on with: a long result of it is kept nowhere else
    reads_on = False
    # What it shows of whose data; a tool that says nothing shows the owner's
    shown: Disclosure = owners("what this tool knows")
    # A look of it is sent to somebody outside
    sends_out = False
    # The same arguments are the same act at any time, so that an "always" may cover them
    may_stand = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not isinstance(getattr(cls, "reads", None), Provenance):
            raise TypeError(f"{cls.__name__} does not declare what it reads: set `reads`")

    @abstractmethod
    async def execute(self, arguments: A, context: ToolContext) -> ToolResult:
        """Run the tool; return an expected failure as a result with `success=False`."""

    def effect_of(self, arguments: A) -> Effect:
        """Return the effect of this call; override where the arguments decide it."""
        del arguments
        return self.effect

    def in_words(self, arguments: A) -> str:
        """Describe this call to the person who is asked; "" where the arguments say enough."""
        del arguments
        return ""

    async def foresee(self, arguments: A) -> Forecast | None:
        """Return what would come of this call; only asked for where a person is about to be.

        Raises:
            BarnacleError: it cannot be foreseen.
        """
        del arguments
        return None

    def shows(self, arguments: A) -> Disclosure:
        """Return whose data this very call shows; one whose arguments matter says more."""
        del arguments
        return self.shown

    def opens(self, arguments: A) -> tuple[str, ...]:
        """Return files and folders that may be opened and that no `path` of the call names.

        The owner's rules on a path look at them, with all beneath them; "." is the workspace.
        """
        del arguments
        return ()

    def binds_to(self, arguments: A) -> Dependence:
        """Return the folder, files and environment that a yes to this call depends on."""
        del arguments
        return NOTHING

    def stands(self, arguments: A) -> bool:
        """Return true if an "always" may cover this call; override where the arguments decide."""
        del arguments
        return self.may_stand

    def always_for(self, arguments: A) -> Pattern | None:
        """Return the calls that an "always" covers; None covers only this exact call."""
        del arguments
        return None

    def spec(self) -> ToolSpec:
        return ToolSpec(
            self.name, self.description, parameters_of(self.arguments_type), self.effect
        )

    def parse(self, arguments_json: str) -> A:
        """Return the typed arguments.

        Raises:
            BadArguments: with the path of what does not fit, for the model to repair.
        """
        if len(arguments_json.encode(errors="replace")) > MAX_ARGUMENTS_BYTES:
            raise BadArguments(own("the arguments are longer than {} bytes", MAX_ARGUMENTS_BYTES))
        try:
            return msgspec.json.decode(arguments_json or "{}", type=self.arguments_type)
        except (msgspec.DecodeError, UnicodeError) as err:
            # It names the schema, which the model was shown, and what the model wrote
            raise BadArguments(echo(str(err))) from err
        except RecursionError as err:
            raise BadArguments(own("the arguments are nested too deeply")) from err


class FieldsTool(Tool[A]):
    """A tool whose result is fields; BadArguments while it runs becomes a failed result."""

    # A refusal may name things of whoever made them
    reads = Provenance.WEB

    async def execute(self, arguments: A, context: ToolContext) -> ToolResult:
        try:
            told = await self._fields_of(arguments, context)
        except BadArguments as err:
            return ToolResult.failed(err.words(self.reads))
        return ToolResult.done(fields(told), self._files_of(told))

    def _files_of(self, told: Mapping[str, Fact]) -> tuple[str, ...]:
        """Return the files that the fields tell of, where the call made some."""
        del told
        return ()

    @abstractmethod
    async def _fields_of(self, arguments: A, context: ToolContext) -> Mapping[str, Fact]:
        """Act, and return the fields of the result."""


# A registry holds tools of every argument type; only `parse` and `execute` of one tool meet
AnyTool = Tool[Any]
