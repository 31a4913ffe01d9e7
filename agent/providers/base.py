"""Base of every language model: one required method, defaults for the rest.

A provider gets the whole conversation and the tools, and returns text, tool calls or both.
It never runs a tool and never drops a turn.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping

from msgspec import Struct

from agent.messages import ChatMessage, Echo, ToolCall, ToolSpec
from agent.passage import Passage

DEFAULT_TEMPERATURE = 0.7
DEFAULT_MAX_TOKENS = 4096


class StopReason(enum.Enum):
    """Reason why a model stopped."""

    # It said all it wanted to say
    END = "end"
    # It wants tools to be used
    TOOLS = "tools"
    # It ran out of tokens: the text is cut
    LENGTH = "length"
    # The service withheld the answer
    REFUSED = "refused"


class Usage(Struct, frozen=True):
    """Tokens that a request cost, as the service counted them.

    Args:
        input_tokens: all that was sent, cached or not.
        cached_tokens: the part of it that was read from the service's cache.
        cache_write_tokens: the part of it that was put there.
        output_tokens: all that was written, thinking too.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class Capabilities(Struct, frozen=True):
    """Abilities of a model beyond text.

    Args:
        context_tokens: how much it can be shown at once; None where nobody says.
    """

    native_tools: bool = False
    streaming: bool = False
    vision: bool = False
    caching: bool = False
    thinking: bool = False
    context_tokens: int | None = None


class ChatRequest(Struct, frozen=True):
    """Request to a model: `messages` starts with the system prompt.

    Args:
        conversation: whose it is, to be counted by; never sent.
        further_tools: are there too, but a language model has to search for them.
        person: whose own word the last message is; empty where it is nobody's. Never sent.
        answer_schema: JSON Schema that a server with grammars holds the answer to; others leave it
            out.
        heard: called at each event of the service's answer, also before the first text.
        counted: told what the answer has cost so far, as it comes; where it breaks off, that is
            what it has cost.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    # None means what the provider is configured with
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    further_tools: tuple[ToolSpec, ...] = ()
    conversation: str = ""
    person: str = ""
    answer_schema: Mapping[str, object] | None = None
    heard: Callable[[], None] | None = None
    counted: Callable[[Usage], None] | None = None


class TextDelta(Struct, frozen=True):
    """Piece of text as it arrives; the pieces joined are `ChatResponse.text`.

    Unless what was taken for text at first turned out to be a thought.
    """

    text: str


class ChatResponse(Struct, frozen=True):
    """Whole answer of a model.

    Args:
        heeds_only_this_turn: its calls follow from the person's last message and from what was
            read since, certainly not from earlier turns or from memories in the prompt. No
            language model can say that of itself.
        echo: to be sent back with the results of `tool_calls`.
        model: who answered, as the service names it; empty where it does not matter.
        thoughts: what the model thought before; never kept, sent only by `echo`.
        was_shortened: older turns were left out, or the model could not have been shown any, or
            they left too little room for the answer.
        is_by_rules: no language model had a part in it.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason = StopReason.END
    usage: Usage = Usage()
    heeds_only_this_turn: bool = False
    echo: Echo | None = None
    model: str = ""
    thoughts: str = ""
    was_shortened: bool = False
    is_by_rules: bool = False


class Provider(ABC):
    """Access to a language model.

    Errors are `TransientProviderError` (may succeed later) or `ProviderRefused` (final).
    """

    name: str = "provider"
    # Why the last request was not answered by the model; empty while it is there
    trouble: str = ""

    @abstractmethod
    async def chat(self, request: ChatRequest) -> ChatResponse:
        """Return the answer to the whole conversation."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Yield text as it arrives, then exactly one `ChatResponse` as the last item."""
        response = await self.chat(request)
        if response.text:
            yield TextDelta(response.text)
        yield response

    async def simple_chat(self, words: Passage, system: Passage | None = None) -> str:
        """Return the answer to one message, for parts that only want text."""
        prefix = () if system is None else (ChatMessage.system(system),)
        return (await self.chat(ChatRequest((*prefix, ChatMessage.user(words))))).text

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities()

    async def list_models(self) -> tuple[str, ...]:
        return ()

    async def warm_up(self) -> None:
        """Do now what would delay the first request."""

    async def aclose(self) -> None:
        """Release what the provider holds."""


class DirectProvider(Provider):
    """Provider that asks its model itself, with one key, and not by way of another provider."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Return the model for requests that name none."""

    @property
    @abstractmethod
    def max_tokens(self) -> int:
        """Return the longest answer, unless a request says otherwise."""

    @property
    @abstractmethod
    def has_key(self) -> bool:
        """Return true if somebody may send a bill for it."""
