"""Messages of Anthropic's wire, as frozen values; unknown fields are ignored."""

import msgspec


class TokenCount(msgspec.Struct, frozen=True):
    """Counts of the service; cached tokens are not among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Block(msgspec.Struct, frozen=True):
    """A part of an answer, or its beginning."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, object] | None = None
    thinking: str | None = None
    signature: str | None = None
    # Of thinking that is not shown
    data: str | None = None


class Delta(msgspec.Struct, frozen=True):
    """Addition to a block, or to the message."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A whole answer, or its head."""

    model: str = ""
    content: list[Block] | None = None
    stop_reason: str | None = None
    usage: TokenCount | None = None


class Event(msgspec.Struct, frozen=True):
    """One event of a stream, or a whole answer, which is of the type `message`."""

    type: str = ""
    index: int = 0
    message: Message | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    usage: TokenCount | None = None
    error: object = None
    # Of a whole answer
    model: str = ""
    content: list[Block] | None = None
    stop_reason: str | None = None


class Model(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class ModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[Model]
