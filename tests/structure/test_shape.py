"""Nothing has grown out of shape, and the rules that say so can fail."""

from pathlib import Path

import pytest

from tests.structure.shape import violations


# Every file of the project is read, and the rest of the machine is at work
@pytest.mark.timeout(240)
def test_nothing_is_out_of_shape() -> None:
    assert "\n".join(violations()) == ""


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("agent/long.py", '"""Long."""\n' + "x = 1\n" * 400, "more than 400 lines"),
        ("firmware/node/long.py", "x = 1\n" * 401, "more than 400 lines"),
        ("agent/one.py", '"""One."""\ndef f():\n' + "    x = 1\n" * 50, "f has 51 lines"),
        ("agent/one.py", '"""One."""\nasync def f():\n' + "    x = 1\n" * 50, "f has 51 lines"),
        ("tests/link/test_x.py", "def test_f():\n" + "    x = 1\n" * 50, "test_f has 51 lines"),
        ("agent/one.py", '"""One."""\nclass C:\n' + "    x = 1\n" * 300, "C has 301 lines"),
        ("agent/link/utils.py", '"""Utilities."""', "no name for what is inside"),
        ("scripts/lib/helpers.py", "", "no name for what is inside"),
        ("agent/one.py", "x = 1", "no module docstring"),
        ("tests/link/test_nothing.py", "", "no agent/link/nothing.py"),
        ("tests/test_nothing.py", "", "no agent/nothing.py"),
        ("scripts/program", "#!/usr/bin/env python3\n" + "x = 1\n" * 200, "more than 200 lines"),
        ("scripts/shell", "#!/bin/sh\n" + "true\n" * 80, "more than 80 lines"),
        (".ci/run", "#!/usr/bin/env bash\n" + "true\n" * 80, "more than 80 lines"),
    ],
)
def test_what_is_out_of_shape_is_named(
    tmp_path: Path, file: str, source: str, complaint: str
) -> None:
    _write(tmp_path / "agent/link/x.py", '"""Tested."""\n')
    _write(tmp_path / file, source)
    [problem] = violations(tmp_path)
    assert file in problem
    assert complaint in problem


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("agent/long.py", "# Long because a table is read in one piece.\n" + '"""T."""\n' * 400),
        ("tests/link/test_x.py", ""),
        ("tests/link/test_x_when_frames_are_lost.py", ""),
        ("tests/faults/test_f01_power.py", ""),
        ("tests/fakes/common_port.py", ""),
    ],
)
def test_what_is_in_shape_is_left_alone(tmp_path: Path, file: str, source: str) -> None:
    _write(tmp_path / "agent/link/x.py", '"""Tested."""\n')
    _write(tmp_path / file, source)
    assert list(violations(tmp_path)) == []


def test_three_files_may_be_long_not_four(tmp_path: Path) -> None:
    for number in range(4):
        excuse = "# Long because a table is read in one piece.\n"
        _write(tmp_path / f"agent/table{number}.py", excuse + '"""T."""\n' * 400)
    [problem] = violations(tmp_path)
    assert "more than 3 long files" in problem


def _write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
