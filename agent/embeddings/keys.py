"""Key of an embedding service, and the setting that holds it."""

from msgspec import Struct

from agent.config import Secret


class Key(Struct, frozen=True):
    """A key; `source` is the setting or variable that it came from."""

    secret: Secret
    source: str
