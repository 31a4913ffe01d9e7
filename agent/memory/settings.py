"""The `[memory]` section."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import ConfigSection, Secret

Backend = Literal["sqlite", "document", "markdown", "lucid", "postgres", "none"]


class MemorySettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the memory."""

    # `backends` says of each where it keeps its memories
    backend: Backend = "sqlite"
    # Address of a database, such as postgresql://barnacle:password@server/barnacle
    postgres_url: Secret = Secret()
    # A file that holds it, as systemd's credentials are
    postgres_url_file: Annotated[str, Meta(max_length=4096)] = ""
    # The external program of the lucid backend, by its name or path
    lucid_program: Annotated[str, Meta(min_length=1, max_length=4096)] = "lucid"
    # Memories that a message may bring into the prompt
    recall_limit: Annotated[int, Meta(ge=1, le=20)] = 5
    # Memories that score lower stay out of the prompt. Measured on the conversations and the
    # sentences of the benchmarks: 0.4 keeps 97-100 % of what was rightly found, and of what is
    # found for questions about something else 1 % of conversations, 24 % of English sentences,
    # 0-6 % of other languages. What is doubted scores less whatever its words: see `doubt`
    min_score: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.4
    # MEMORY_SNAPSHOT.md beside the database, from which a lost or damaged one comes back
    snapshot: bool = True
    # Turns of conversations are kept for so long
    conversation_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    # Beyond it the least trusted go first; what people said of themselves never goes
    max_memories: Annotated[int, Meta(ge=100, le=2_000_000)] = 100_000
    # Conversations past their time go into files beside the database instead of nowhere
    archive: bool = False
    # The language model draws lasting facts from what was said, now and then
    consolidate: bool = True
    # Folder of datasheets and notes; empty: the folder `documents` in the workspace
    documents: Annotated[str, Meta(max_length=4096)] = ""
    # How far they are trusted: as files are, or, where the owner wrote every word, as the owner
    documents_trust: Literal["web", "tool", "owner"] = "tool"

    def __post_init__(self) -> None:
        if self.postgres_url and self.postgres_url_file:
            raise ValueError("set only one of postgres_url and postgres_url_file")
        if self.backend == "postgres" and not (self.postgres_url or self.postgres_url_file):
            raise ValueError("the postgres backend needs postgres_url or postgres_url_file")
