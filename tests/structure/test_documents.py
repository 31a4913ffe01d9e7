"""Documents lead somewhere, and the rules that say so can fail."""

from pathlib import Path

import pytest

from scripts.lib import module_map
from tests.structure.documents import MOST_README_LINES, violations
from tests.structure.sources import ROOT


def test_links_and_commands_of_the_documents_exist() -> None:
    assert "\n".join(violations()) == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[guide](agent/none.md)", "no agent/none.md"),
        ("[part](#nowhere)", "no heading for #nowhere"),
        ("Run `scripts/none` first.", "no program scripts/none"),
        ("```\n$ ./scripts/none --help\n```", "no program scripts/none"),
        ("`barnacle dance`", "no dance"),
        ("```\n$ sudo barnacle jobs dance\n```", "no dance"),
        ("`barnacle status --loud`", "no --loud"),
        ("`barnacle jobs list|dance`", "no dance"),
        ("line\n" * (MOST_README_LINES + 1), "are allowed"),
    ],
)
def test_a_dead_end_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "README.md").write_text(f"# Title\n\n{text}\n")
    [problem] = violations(tmp_path)
    assert complaint in problem


@pytest.mark.parametrize(
    "text",
    [
        "[other](agent/README.md#what-it-is)",
        "[page](https://example.org/none)",
        "`barnacle jobs list` and `barnacle memory forget KEY`",
        "```\n$ barnacle pair --role guest --name Anna\n```",
        "```\n[not a link](nowhere)\n```",
    ],
)
def test_what_exists_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/README.md").write_text("# Agent\n\n## What it is\n")
    (tmp_path / "README.md").write_text(f"# Title\n\n{text}\n")
    assert list(violations(tmp_path)) == []


def test_a_table_of_places_names_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    (tmp_path / "agent/checks").mkdir(parents=True)
    for name in ("agent/one.py", "agent/two.py", "agent/checks/three.py"):
        (tmp_path / name).touch()
    table = tmp_path / "CONTRIBUTING.md"
    table.write_text("| parts | `agent/one.py`, `two.py`, `checks/three.py`; `name` |\n")
    assert list(violations(tmp_path)) == []
    table.write_text("| parts | `agent/one.py`, `gone.py` |\n| more | `two.py` |\n")
    assert list(violations(tmp_path)) == [
        "CONTRIBUTING.md: no gone.py",
        "CONTRIBUTING.md: no two.py",
    ]


def test_the_map_names_every_module() -> None:
    page = (ROOT / module_map.PAGE).read_text(encoding="utf-8")
    assert page == module_map.with_map(page), "scripts/map writes it anew"


def test_a_module_that_moved_is_found_by_the_map(tmp_path: Path) -> None:
    (tmp_path / "agent" / "net").mkdir(parents=True)
    (tmp_path / "agent" / "net" / "sse.py").touch()
    (tmp_path / "agent" / "net" / "__init__.py").touch()
    page = (ROOT / module_map.PAGE).read_text(encoding="utf-8")
    changed = module_map.with_map(page, tmp_path)
    assert "| `agent/net/` | sse |" in changed
    assert "agent/channels/telegram/` |" not in changed
    assert changed.partition("### Every module")[0] == page.partition("### Every module")[0]
