"""The seam of a wire format: how a request is written and an answer is read.

A wire format knows no network, no keys and no retries; `ServiceProvider` brings those. It holds
no state: what a model was found to want is a value of its own, its manner.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from agent.providers.answer import Answer
from agent.providers.base import Capabilities, ChatRequest
from agent.providers.failures import Refusal
from agent.providers.sse import SseParser

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Defaults of a request's sampling."""

    model: str
    temperature: float
    max_tokens: int

    def of(self, request: ChatRequest) -> "Sampling":
        return Sampling(
            request.model or self.model,
            self.temperature if request.temperature is None else request.temperature,
            self.max_tokens if request.max_tokens is None else request.max_tokens,
        )


@dataclass(frozen=True, slots=True)
class Post:
    """A request as it is sent; `path` is added to the address of the service."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Splitter(Protocol):
    """Cuts a stream of bytes into events; an instance serves one answer."""

    def feed(self, piece: bytes) -> Sequence[str]:
        """The events that `piece` completed."""

    def close(self) -> Sequence[str]:
        """The event whose end never came; it may be cut anywhere."""


class ToldError(Exception):
    """An event that is the service's own error message; `body` is what it says, parsed."""

    def __init__(self, body: object) -> None:
        super().__init__("the service told an error")
        self.body = body


class Wire(ABC, Generic[M]):
    """One wire format; `M` is the manner in which a model wants to be asked."""

    # Names the format in an `Echo`
    name: str
    # Added to the address for the list of models
    models_path = "models"

    @abstractmethod
    def first_manner(self, host: str, model: str) -> M:
        """Return the first manner to try."""

    @abstractmethod
    def other_manner(self, manner: M, refusal: Refusal) -> M | None:
        """Return the manner to try after a refusal; None if it names nothing that can change."""

    @abstractmethod
    def write(self, request: ChatRequest, sampling: Sampling, manner: M) -> Post:
        """The request; the same request gives the same bytes, so that its start can be cached."""

    @abstractmethod
    def read(self, event: str, answer: Answer) -> str:
        """Take one event, or a whole answer, into `answer`; the text to show now.

        Raises:
            WireError: it has another shape.
            ToldError: it is an error of the service.
            TransientProviderError: the answer is beyond all measure.
        """

    @abstractmethod
    def read_models(self, body: str) -> Sequence[str]:
        """The names in a list of models.

        Raises:
            WireError: it has another shape.
        """

    @abstractmethod
    def capabilities(self, model: str) -> Capabilities: ...

    def splitter(self) -> Splitter:
        return SseParser()
