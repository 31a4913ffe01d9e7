"""Messages of Ollama's wire, as frozen values; unknown fields are ignored."""

import msgspec


class FunctionCall(msgspec.Struct, frozen=True):
    """Name and arguments, which are an object; some that imitate Ollama send a string."""

    name: str | None = None
    arguments: dict[str, object] | str | None = None


class Call(msgspec.Struct, frozen=True):
    """A tool call, always whole; only newer releases give it an id."""

    function: FunctionCall | None = None
    id: str | None = None


class Message(msgspec.Struct, frozen=True):
    """Addition to the answer."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None


class Chunk(msgspec.Struct, frozen=True):
    """One line of a stream, or a whole answer; the counts come with `done`."""

    message: Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: object = None


class Model(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    name: str


class ModelList(msgspec.Struct, frozen=True):
    """The models that were pulled."""

    models: list[Model]
