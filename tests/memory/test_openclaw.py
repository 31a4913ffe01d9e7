import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import MemoryUnavailable
from agent.memory import imports, openclaw
from agent.memory.base import CORE, DAILY, Scope
from agent.messages import Provenance

NOTES = """# MEMORY.md — Long-Term Memory

*Your curated memories.*

---

## Preferences
- likes green tea
  and no sugar
- **wakes** at six
1. first thing: coffee

<!-- a hidden
order -->
## Lessons

The pump needs a diode.
It broke twice.

```sh
# not a heading

- not an item
```

## Empty
"""


def test_items_paragraphs_and_fences_are_one_memory_each() -> None:
    assert list(openclaw.statements(NOTES)) == [
        "*Your curated memories.*",
        "Preferences: likes green tea\n  and no sugar",
        "Preferences: **wakes** at six",
        "Preferences: first thing: coffee",
        "Lessons: The pump needs a diode.\nIt broke twice.",
        "Lessons: ```sh\n# not a heading\n\n- not an item\n```",
    ]


def test_a_folder_has_lasting_facts_and_days(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- likes tea\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-02-19.md").write_text("it rained\n")
    (tmp_path / "memory" / "2026-99-99.md").write_text("no such day\n")
    (tmp_path / "memory" / "notes.txt").write_text("not one of them\n")
    found = [
        entry
        for file in openclaw.files(tmp_path)
        for entry in openclaw.parse(file, Scope("owner"), Provenance.MODEL)
        if entry is not None
    ]
    assert [(entry.content, entry.category) for entry in found] == [
        ("likes tea", CORE),
        ("it rained", DAILY),
        ("no such day", DAILY),
    ]
    assert found[1].created_at_s == 1771502400.0
    assert [entry.source for entry in found[:2]] == ["openclaw:MEMORY.md", "openclaw:2026-02-19.md"]


def test_a_history_of_records_is_read_line_by_line(tmp_path: Path) -> None:
    """As nanobot has written it since it gave up HISTORY.md (its docs/memory.md)."""
    (tmp_path / "memory").mkdir()
    path = tmp_path / "memory/history.jsonl"
    path.write_text(
        '{"cursor": 42, "timestamp": "2026-04-03 00:02", "content": "- User prefers dark mode\\n'
        '- Decided to use PostgreSQL"}\n'
        '{"cursor": 43, "timestamp": "2026-04-03 09:10", "content": ""}\n'
        '{"cursor": 44, "timestamp": "?", "content": "Zwei\u2028Zeilen", "session_key": "cli"}\n'
        '{"cursor": 45, "timest'
    )
    assert openclaw.files(tmp_path) == [path]
    for found in (path, tmp_path):
        read = list(imports.read(found, Scope("owner"), Provenance.MODEL))
        entries = [entry for entry in read if entry is not None]
        assert [(entry.content, entry.category, entry.source) for entry in entries] == [
            ("User prefers dark mode", DAILY, "openclaw:history.jsonl"),
            ("Decided to use PostgreSQL", DAILY, "openclaw:history.jsonl"),
            ("Zwei\nZeilen", DAILY, "openclaw:history.jsonl"),
        ]
        # By its own clock
        assert entries[0].created_at_s == time.mktime((2026, 4, 3, 0, 2, 0, 0, 0, -1))


def test_a_file_that_is_no_notes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclaw, "MAX_FILE_BYTES", 3)
    (tmp_path / "MEMORY.md").write_text("- likes tea\n")
    with pytest.raises(MemoryUnavailable, match="larger"):
        list(openclaw.parse(tmp_path / "MEMORY.md", Scope("owner"), Provenance.MODEL))


@given(st.text(max_size=200), st.integers(0, len(NOTES)))
def test_any_text_is_read_without_an_error(noise: str, place: int) -> None:
    for said in openclaw.statements(NOTES[:place] + noise + NOTES[place:]):
        assert said.strip()
