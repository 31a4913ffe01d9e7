import io
import math

import pytest

from agent.cli import memory_text
from agent.memory.base import MemoryEntry, Scope
from agent.messages import Provenance

NEW_YEAR_S = 1_798_761_600.0


def entry(key: str, content: str, category: str = "core", at_s: float = NEW_YEAR_S) -> MemoryEntry:
    return MemoryEntry(
        1, key, content, category, Provenance.OWNER, Scope("owner", "terminal"), at_s, at_s
    )


def test_a_document_has_a_section_for_each_category_and_the_newest_first() -> None:
    entries = [
        entry("old", "tea", at_s=NEW_YEAR_S - 86_400),
        entry("rain", "it rained", "daily"),
        entry("new", "coffee"),
    ]
    assert memory_text.markdown("owner", entries).splitlines() == [
        "# What Barnacle remembers of owner",
        "",
        "## core",
        "",
        "- **new**: coffee (owner, 2027-01-01)",
        "- **old**: tea (owner, 2026-12-31)",
        "",
        "## daily",
        "",
        "- **rain**: it rained (owner, 2027-01-01)",
    ]


def test_nothing_remembered_is_a_title() -> None:
    assert memory_text.markdown("owner", []) == "# What Barnacle remembers of owner"


def test_a_memory_of_several_lines_stays_one_item() -> None:
    said = memory_text.markdown("owner", [entry("a\n# b", "one\n# two")])
    assert said.endswith("- **a # b**: one\n  # two (owner, 2027-01-01)")


def test_control_is_taken_out_of_documents_and_left_in_json() -> None:
    hostile = entry("key", "a\x1b[2Jb\u202e")
    assert "a[2Jb (" in memory_text.markdown("owner", [hostile])
    assert memory_text.as_json(hostile)["content"] == "a\x1b[2Jb\u202e"


def test_json_has_every_field() -> None:
    assert memory_text.as_json(entry("sister", "小美")) == {
        "key": "sister",
        "content": "小美",
        "category": "core",
        "provenance": "owner",
        "person": "owner",
        "session": "terminal",
        "group": None,
        "device": None,
        "source": "",
        "importance": 0.5,
        "pinned": False,
        "created": "2027-01-01T00:00:00Z",
        "updated": "2027-01-01T00:00:00Z",
        "until": None,
        "score": None,
    }


@pytest.mark.parametrize("at_s", [math.inf, 1e300, -1e300])
def test_a_time_that_is_none_is_no_traceback(at_s: float) -> None:
    assert memory_text.as_json(entry("a", "b", at_s=at_s))["updated"] == "unknown"
    assert memory_text.day_of(at_s) == memory_text.NO_DAY


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_rows_are_cut_to_the_terminal_and_letters_of_two_columns_line_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout", screen := Screen())
    memory_text.say_rows(
        [
            memory_text.row(entry("妹妹", "我妹妹叫小美" * 9)),
            memory_text.row(entry("a" * 99, "b\x1b[2J" * 99)),
        ]
    )
    assert screen.getvalue().splitlines() == [
        "2027-01-01  core  owner  妹妹      我妹…",
        "2027-01-01  core  owner  aaaaaaa…  b[2J…",
    ]


def test_a_pipe_gets_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    memory_text.say_rows([memory_text.row(entry("a" * 99, "b" * 300), whose=True)])
    assert f"2027-01-01  owner  core  owner  {'a' * 99}  {'b' * 300}\n" == capsys.readouterr().out
