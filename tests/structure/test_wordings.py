"""Nobody vouches for a text that they did not write, and the rules that say so can fail."""

from pathlib import Path

import pytest

from tests.structure.wordings import violations

IMPORTS = "from agent.passage import Passage, configured, echo, joined, outside, own\n"


def test_nobody_vouches_for_words_of_others() -> None:
    assert "\n".join(violations()) == ""


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("tools/files.py", 'own(f"it said {err}")', "own() takes a text that is written out"),
        ("tools/files.py", "own(str(err))", "own() takes a text that is written out"),
        ("tools/files.py", "def f(told):\n    own(told)", "own() takes a text that is written out"),
        ("tools/files.py", "own()", "own() takes a text that is written out"),
        ("tools/files.py", "joined(text, [])", "a separator that is written out"),
        ("tools/new.py", "configured(page)", "configured() vouches for a text"),
        ("tools/new.py", "echo(page)", "echo() vouches for a text"),
        ("tools/new.py", "Passage(page, OWNER, '')", "a passage is made by own()"),
    ],
)
def test_what_vouches_for_anything_is_named(
    tmp_path: Path, module: str, source: str, complaint: str
) -> None:
    file = tmp_path / "agent" / module
    file.parent.mkdir(parents=True)
    file.write_text(IMPORTS + source)
    [problem] = violations(tmp_path)
    assert problem.startswith(f"agent/{module}:")
    assert complaint in problem


@pytest.mark.parametrize(
    "source",
    [
        'own("plain")',
        'own("{} pages", 5)',
        'TEXT = "plain"\nown(TEXT)',
        "from agent.x import TEXT\nown(TEXT)",
        'own("on" if is_on else "off")',
        'def f():\n    late = "{} was late"\n    own(late, 5)',
        "outside(page, WEB)",
    ],
)
def test_what_is_written_out_is_ours(tmp_path: Path, source: str) -> None:
    file = tmp_path / "agent/tools/files.py"
    file.parent.mkdir(parents=True)
    file.write_text(IMPORTS + source)
    assert list(violations(tmp_path)) == []
