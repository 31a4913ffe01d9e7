"""Messages of Gemini's wire, as frozen values; unknown fields are ignored."""

import msgspec


class FunctionCall(msgspec.Struct, frozen=True):
    """A call, always whole; older models give no id."""

    name: str | None = None
    args: dict[str, object] | None = None
    id: str | None = None


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A piece of an answer; `thought` marks a summary of thinking, which is not for people."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None


class Content(msgspec.Struct, frozen=True):
    """Addition to an answer."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, frozen=True, rename="camel"):
    """One of the answers."""

    content: Content | None = None
    finish_reason: str | None = None
    index: int | None = None


class PromptFeedback(msgspec.Struct, frozen=True, rename="camel"):
    """Reason for a missing answer."""

    block_reason: str | None = None


class TokenCount(msgspec.Struct, frozen=True, rename="camel"):
    """Counts of the service so far; cached tokens are among those of the prompt."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class Chunk(msgspec.Struct, frozen=True, rename="camel"):
    """One event of a stream, or a whole answer."""

    candidates: list[Candidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: TokenCount | None = None
    error: object = None


class Model(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of the list of models, called `models/` and its name."""

    name: str
    supported_generation_methods: list[str] | None = None


class ModelList(msgspec.Struct, frozen=True):
    """The models of the service."""

    models: list[Model]
