"""The counts of scripts/shape find what they are for, and nothing else."""

from pathlib import Path

import pytest

from scripts.lib import shape


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("agent/link", "firmware", "image", "scripts"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def _write(tree: Path, module: str, source: str) -> None:
    (tree / module).write_text(source)


def test_a_docstring_that_begins_with_a_question_word_is_counted(tree: Path) -> None:
    _write(tree, "agent/one.py", '"""What it is."""\ndef f():\n    """Return it."""\n')
    count = shape.count_docstrings(tree)
    assert count.places == ("agent/one.py:1 module",)
    assert count.of == 2


@pytest.mark.parametrize(("name", "counted"), [("sending", 1), ("pooling", 0), ("ring", 0)])
def test_gerunds_are_told_from_nouns(tree: Path, name: str, counted: int) -> None:
    _write(tree, f"agent/{name}.py", "")
    assert len(shape.count_gerunds(tree).places) == counted


def test_a_class_name_counts_once_however_many_share_it(tree: Path) -> None:
    for name in ("a", "b", "c"):
        _write(tree, f"agent/{name}.py", "class Place: ...\nclass _Own: ...\n")
    count = shape.count_shared_class_names(tree)
    assert count.places == ("Place: agent/a.py, agent/b.py, agent/c.py",)


def test_imports_of_a_name_or_of_the_module_are_one_importer(tree: Path) -> None:
    _write(tree, "agent/link/frame.py", "def crc(): ...\ndef pack(): ...\n")
    _write(tree, "agent/one.py", "from agent.link.frame import crc, pack\n")
    assert "agent/link/frame.py" in shape.count_single_importers(tree).places
    _write(tree, "image/two.py", "import agent.link.frame\n")
    assert "agent/link/frame.py" not in shape.count_single_importers(tree).places


def test_files_that_name_a_device_kind_are_counted_once_each(tree: Path) -> None:
    for folder in ("agent/link/devices", "firmware/node", "firmware/boards", "tests/link"):
        (tree / folder).mkdir(parents=True)
    _write(tree, "agent/link/devices/rows.py", 'ROWS = (DeviceRow(kind="sonar", can=("sonar",)),)')
    _write(tree, "firmware/node/sonar.py", "")
    _write(tree, "firmware/boards/a.py", 'HAS = ("sonar",)')
    _write(tree, "tests/link/test_sonar.py", "")
    _write(tree, "tests/link/test_other.py", 'KIND = "sonar"')
    count = shape.count_files_per_kind(tree)
    assert count.places == (
        "agent/link/devices/rows.py",
        "firmware/node/sonar.py",
        "tests/link/test_sonar.py",
    )
    _write(tree, "agent/one.py", 'KIND = "sonar"')
    assert len(shape.count_files_per_kind(tree).places) == 3
    _write(tree, "agent/two.py", 'import agent.link.frame\nKIND = "sonar"')
    assert len(shape.count_files_per_kind(tree).places) == 4


@pytest.mark.parametrize(("about", "status"), [("Number of it.", 0), ("What it is.", 1)])
def test_a_missed_bar_fails_the_run(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    about: str,
    status: int,
) -> None:
    monkeypatch.setattr(shape, "ROOT", tree)
    for folder in ("agent/link/devices", "firmware/node", "firmware/boards", "tests/link"):
        (tree / folder).mkdir(parents=True)
    _write(tree, "agent/link/devices/rows.py", 'ROWS = (DeviceRow(kind="sonar", can=("sonar",)),)')
    _write(tree, "README.md", "A line.\n")
    _write(tree, "agent/one.py", f'"""{about}"""\n')
    assert shape.main([]) == status
    assert "docstrings that begin with a question word" in capsys.readouterr().out
