"""Memories and questions from JSON files, given by the person who starts the benchmark.

A file is {"docs": [{"id", "text", ...}], "queries": [{"id", "text", "rel": [ids], ...}]}; a
document may have a group, session, date, speaker and order.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# A document without a date was said then
_SOME_DAY_S = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class Document:
    """One memory."""

    document_id: str
    group: str
    session: str | None
    at_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question and the documents that answer it."""

    group: str
    text: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A file, its documents in the order in which they were said."""

    name: str
    documents: Sequence[Document]
    queries: Sequence[Query]

    @property
    def is_conversation(self) -> bool:
        return any(document.session is not None for document in self.documents)

    def groups(self) -> list["Dataset"]:
        """One for each conversation."""
        names = sorted({document.group for document in self.documents})
        return [
            replace(
                self,
                documents=[one for one in self.documents if one.group == name],
                queries=[one for one in self.queries if one.group == name],
            )
            for name in names
        ]

    def thinned(self, queries: int) -> "Dataset":
        """With about so many of its questions."""
        step = max(1, len(self.queries) // queries)
        return replace(self, queries=self.queries[::step])


def load(path: Path) -> Dataset:
    content = json.loads(path.read_bytes())
    ordered = sorted(enumerate(content["docs"]), key=lambda one: _order(*one))
    return Dataset(
        path.stem,
        [_document(doc) for _, doc in ordered],
        [_query(query) for query in content["queries"]],
    )


def _order(place: int, doc: Mapping[str, Any]) -> tuple[str, float, float, int]:
    return str(doc.get("group", "")), _time_s(doc), float(doc.get("order", 0)), place


def _document(doc: Mapping[str, Any]) -> Document:
    group = str(doc.get("group", ""))
    session = f"{group}/{doc['session']}" if "session" in doc else None
    text = f"{doc['speaker']}: {doc['text']}" if doc.get("speaker") else doc["text"]
    return Document(doc["id"], group, session, _time_s(doc), text)


def _query(query: Mapping[str, Any]) -> Query:
    return Query(str(query.get("group", "")), query["text"], frozenset(query["rel"]))


def _time_s(doc: Mapping[str, Any]) -> float:
    if "ts" in doc:
        return datetime.fromisoformat(doc["ts"]).replace(tzinfo=UTC).timestamp()
    if "date" in doc:
        # Such as: 1:56 pm on 8 May, 2023
        day = str(doc["date"]).rpartition(" on ")[2]
        return datetime.strptime(day, "%d %B, %Y").replace(tzinfo=UTC).timestamp()
    return _SOME_DAY_S
