"""Seam of a wire format: the request that is written, the answer that is read.

A wire format knows no network, no keys and no retries; `ServiceProvider` brings those. It holds
no state: what a model was found to want is a value of its own, its dialect.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

from agent.providers.answer import AnswerBuilder
from agent.providers.base import Capabilities, ChatRequest
from agent.providers.failures import ServiceRefusal
from agent.providers.sse import ServiceSseParser

M = TypeVar("M")


class Sampling(Struct, frozen=True):
    """Defaults of a request's sampling.

    Args:
        context_tokens: the window, where the owner says so.
    """

    model: str
    temperature: float
    max_tokens: int
    context_tokens: int | None = None

    def of(self, request: ChatRequest) -> "Sampling":
        return Sampling(
            request.model or self.model,
            self.temperature if request.temperature is None else request.temperature,
            # Whoever asks knows the room there is, the owner what an answer may cost
            min(self.max_tokens, request.max_tokens or self.max_tokens),
            self.context_tokens,
        )


class WireRequest(Struct, frozen=True):
    """A request as it is sent; `path` is added to the address of the service."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Splitter(Protocol):
    """Cutter of a byte stream into events; an instance serves one answer."""

    def feed(self, piece: bytes) -> Sequence[str]:
        """Return the events that `piece` completed."""

    def close(self) -> Sequence[str]:
        """Return the event whose end never came; it may be cut anywhere."""


class ToldError(Exception):
    """An event that is the service's own error message; `body` is what it says, parsed."""

    def __init__(self, body: object) -> None:
        super().__init__("the service reported an error")
        self.body = body


class WireFormat(ABC, Generic[M]):
    """Wire format; `M` is the dialect in which a model wants to be asked."""

    # Names the format in an `Echo`
    name: str
    # Added to the address for the list of models
    models_path = "models"

    @abstractmethod
    def first_dialect(self, host: str, model: str) -> M:
        """Return the first dialect to try."""

    @abstractmethod
    def other_dialect(self, dialect: M, refusal: ServiceRefusal) -> M | None:
        """Return the dialect to try after a refusal; None if it names nothing that can change."""

    @abstractmethod
    def write(self, request: ChatRequest, sampling: Sampling, dialect: M) -> WireRequest:
        """Return the request; equal requests give equal bytes, so their start is cached."""

    @abstractmethod
    def read(self, event: str, answer: AnswerBuilder) -> str:
        """Take one event, or a whole answer, into `answer`; return the text to show now.

        Raises:
            WireError: it has another shape.
            ToldError: it is an error of the service.
            TransientProviderError: the answer is beyond all measure.
        """

    @abstractmethod
    def read_models(self, body: str) -> Sequence[str]:
        """Return the names in a list of models.

        Raises:
            WireError: it has another shape.
        """

    @abstractmethod
    def capabilities(self, model: str) -> Capabilities: ...

    def splitter(self) -> Splitter:
        return ServiceSseParser()
