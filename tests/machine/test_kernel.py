from pathlib import Path

import pytest

from agent.machine.kernel import MAX_FILE_BYTES, Kernel, first_number


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    assert kernel.text("proc/nothing") == ""
    assert kernel.number("proc/nothing") is None
    assert not kernel.exists("proc/nothing")
    assert kernel.matches("proc/*") == []


def test_a_folder_in_the_place_of_a_file_is_empty(tmp_path: Path) -> None:
    assert Kernel(tmp_path.parent).text(tmp_path.name) == ""


def test_a_file_that_has_no_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * (MAX_FILE_BYTES + 1))
    assert len(Kernel(tmp_path).text("long")) == MAX_FILE_BYTES


@pytest.mark.parametrize(
    ("text", "value"), [("3\n", 3), ("0x0a\n", 10), ("", None), ("many", None), ("1 2", None)]
)
def test_a_number_is_all_of_a_file(tmp_path: Path, text: str, value: int | None) -> None:
    (tmp_path / "count").write_text(text)
    assert Kernel(tmp_path).number("count") == value


def test_matches_are_paths_to_read_on(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    for name in ("b", "a"):
        (tmp_path / "sys" / name).write_text(name)
    kernel = Kernel(tmp_path)
    assert [kernel.text(path) for path in kernel.matches("sys/*")] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.31 0.22 0.14 1/148 2391\n", 0.31),
        ("84219.55 330111.02\n", 84219.55),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("x 1", None),
    ],
)
def test_the_first_number(text: str, value: float | None) -> None:
    assert first_number(text) == value
