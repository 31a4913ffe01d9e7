"""Messages of chat completions, as frozen values.

Everything is optional: services leave out, add and misspell. Unknown fields are ignored.
"""

import msgspec


class FunctionPart(msgspec.Struct, frozen=True):
    """Name and arguments, or a piece of them; some services send arguments as an object."""

    name: str | None = None
    arguments: str | dict[str, object] | None = None


class CallPart(msgspec.Struct, frozen=True):
    """A tool call or a piece of one; pieces with the same `index` belong together."""

    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class TextPart(msgspec.Struct, frozen=True):
    """Content as some services send it: a list, of which only text is for people."""

    text: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message, or what was added to it."""

    content: str | list[TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None
    # Some services demand their model's thoughts back with the results of its calls
    reasoning_content: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or self.refusal or ""


class Choice(msgspec.Struct, frozen=True):
    """One of the answers: `delta` in a stream, `message` in a whole answer."""

    index: int | None = None
    delta: Message | None = None
    message: Message | None = None
    finish_reason: str | None = None


class PromptDetails(msgspec.Struct, frozen=True):
    """Breakdown of the tokens that were sent."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class TokenCount(msgspec.Struct, frozen=True):
    """Counts of the service."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    # DeepSeek's name for it
    prompt_cache_hit_tokens: int | None = None


class Chunk(msgspec.Struct, frozen=True):
    """A whole answer, or one event of a stream."""

    choices: list[Choice] | None = None
    usage: TokenCount | None = None
    error: object = None
    # vLLM marks an error in the middle of a stream by this alone
    kind: str | None = msgspec.field(default=None, name="object")
    message: str | None = None


class Model(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class ModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[Model]
