"""Messages of OpenAI Responses, as frozen values; unknown fields are ignored."""

import msgspec


class TokenDetails(msgspec.Struct, frozen=True):
    """Breakdown of the tokens that were sent."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class TokenCount(msgspec.Struct, frozen=True):
    """Counts of the service."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: TokenDetails | None = None


class Content(msgspec.Struct, frozen=True):
    """A part of a message."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct, frozen=True):
    """One thing that the model put out: a message, a call, thoughts."""

    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[Content] | None = None


class Incomplete(msgspec.Struct, frozen=True):
    """Reason for an incomplete answer."""

    reason: str | None = None


class Response(msgspec.Struct, frozen=True):
    """The answer as far as it has come; whole at the end.

    Items are kept as they came too: they are sent back word for word.
    """

    status: str | None = None
    output: list[dict[str, object]] | None = None
    usage: TokenCount | None = None
    incomplete_details: Incomplete | None = None
    error: object = None


class Event(msgspec.Struct, frozen=True):
    """One event of a stream."""

    type: str = ""
    output_index: int = 0
    delta: str | None = None
    item: Item | None = None
    response: Response | None = None
    # Of the event `error`
    code: str | None = None
    message: str | None = None
    param: str | None = None


class Model(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class ModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[Model]
