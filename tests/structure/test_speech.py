"""The project speaks of itself alone, and the rules that say so can fail."""

from pathlib import Path

import pytest

from tests.structure.speech import violations


def test_the_project_speaks_of_itself_alone() -> None:
    assert "\n".join(violations()) == ""


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("agent/one.py", "path = '/Us" + "ers/mei/barnacle'", "somebody's machine"),
        ("README.md", "see /wo" + "rk/main", "somebody's machine"),
        ("scripts/run", "cd /ho" + "me/mei", "home folder"),
        ("scripts/run", "pip install -i https://py" + "pi.org/simple x", "registry's address"),
        ("scripts/lib/apt.py", "MIRROR = 'deb.deb" + "ian.org'", "mirror's address"),
        ("agent/one.py", "# as is" + "sue #12 says", "a ticket"),
        ("agent/one.py", "# as the br" + "ief says", "how the work is organised"),
        ("scripts/some.lock", "x @ https:" + "//example.net/x.whl", "an address in a lock"),
        ("notes.txt", "", "fixed top level"),
        ("docs/page.md", "", "fixed top level"),
    ],
)
def test_foreign_speech_is_named(tmp_path: Path, file: str, text: str, complaint: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"first line\n{text}\n")
    [problem] = violations(tmp_path)
    assert file in problem
    assert complaint in problem


def test_what_tools_made_is_not_read(tmp_path: Path) -> None:
    for folder in (".venv", ".barnacle", ".git", "agent/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "log.txt").write_text("/wo" + "rk/main")
    assert list(violations(tmp_path)) == []
