"""An argument that is one of some names, with the other words for each told beside it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec


def one_of(names: Mapping[str, Sequence[str]]) -> Any:
    """The type of such an argument."""
    kind: Any = Literal[tuple(names)]
    known = ", ".join(f"{name} ({', '.join(words)})" for name, words in names.items() if words)
    return Annotated[kind, msgspec.Meta(description=known)] if known else kind
