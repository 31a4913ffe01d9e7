"""Key of an embedding service, and the setting that holds it."""

from dataclasses import dataclass

from agent.config import Secret


@dataclass(frozen=True, slots=True)
class Key:
    """A key; `source` is the setting or variable that it came from."""

    secret: Secret
    source: str
