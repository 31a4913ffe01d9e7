import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.security import act
from agent.security.act import (
    MAX_HASHED_BYTES,
    NOTHING,
    Dependence,
    Pattern,
    act_hash,
    call_hash,
    canonical,
    pattern_hash,
)

arguments = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans()))


@given(arguments, arguments)
def test_only_equal_arguments_have_equal_hashes(
    one: dict[str, object], two: dict[str, object]
) -> None:
    same = canonical(json.dumps(one)) == canonical(json.dumps(two))
    assert (call_hash("t", json.dumps(one)) == call_hash("t", json.dumps(two))) is same


def test_order_and_spacing_do_not_matter_and_the_tool_does() -> None:
    assert call_hash("t", '{"a":1,"b":2}') == call_hash("t", '{ "b": 2, "a": 1 }')
    assert call_hash("t", "{}") != call_hash("u", "{}")


def test_true_is_not_one() -> None:
    assert call_hash("t", '{"a":true}') != call_hash("t", '{"a":1}')


def test_what_is_not_json_has_no_hash() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        call_hash("t", "{")


def test_an_act_that_depends_on_nothing_is_its_call() -> None:
    assert act_hash("t", '{"a": 1}', NOTHING) == call_hash("t", '{"a":1}')


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "run.sh").write_text("echo hello")
    return folder


def swapped(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    (folder / "run.sh").write_text("echo hello")


def linked(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    other = folder.with_name("other")
    other.mkdir()
    (other / "run.sh").write_text("echo hello")
    folder.symlink_to(other)


def rewritten(folder: Path) -> None:
    (folder / "run.sh").write_text("echo jello")


def removed(folder: Path) -> None:
    (folder / "run.sh").unlink()


def replaced_by_a_link(folder: Path) -> None:
    (folder / "run.sh").rename(folder / "real.sh")
    (folder / "run.sh").symlink_to("real.sh")


def gone(folder: Path) -> None:
    folder.rename(folder.with_name("old"))


@pytest.mark.parametrize("change", [swapped, linked, rewritten, removed, replaced_by_a_link, gone])
def test_whatever_changes_where_it_works_makes_it_another_act(
    workspace: Path, change: Callable[[Path], None]
) -> None:
    dependence = Dependence(workspace, ("run.sh",), {"PATH": "/bin"})
    before = act_hash("shell", "{}", dependence)
    assert act_hash("shell", "{}", dependence) == before
    change(workspace)
    assert act_hash("shell", "{}", dependence) != before


def test_another_environment_is_another_act(workspace: Path) -> None:
    acts = {
        act_hash("shell", "{}", Dependence(workspace, (), environment))
        for environment in ({}, {"A": "1"}, {"A": "2"}, {"B": "1"})
    }
    assert len(acts) == 4


def test_a_file_that_comes_into_being_makes_it_another_act(workspace: Path) -> None:
    dependence = Dependence(workspace, ("new.txt",))
    before = act_hash("t", "{}", dependence)
    assert act_hash("t", "{}", dependence) == before
    (workspace / "new.txt").touch()
    assert act_hash("t", "{}", dependence) != before


def test_a_file_without_a_folder_is_nowhere() -> None:
    assert act_hash("t", "{}", Dependence(None, ("/etc/passwd",))) == act_hash(
        "t", "{}", Dependence(None, ("/etc/passwd",))
    )


def test_what_is_too_long_to_be_compared_is_never_the_same(workspace: Path) -> None:
    with (workspace / "long").open("wb") as file:
        file.truncate(MAX_HASHED_BYTES)
    dependence = Dependence(workspace, ("long",))
    assert act_hash("t", "{}", dependence) != act_hash("t", "{}", dependence)


@pytest.mark.parametrize(("size_bytes", "is_same"), [(999, True), (1000, False), (2000, False)])
def test_no_more_of_a_file_is_read_than_may_be(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int, *, is_same: bool
) -> None:
    monkeypatch.setattr(act, "MAX_HASHED_BYTES", 1000)
    (workspace / "long").write_bytes(b"x" * size_bytes)
    dependence = Dependence(workspace, ("long",))
    one, other = (act_hash("t", "{}", dependence) for _ in range(2))
    assert (one == other) is is_same


class TestPattern:
    def test_only_what_is_fixed_counts(self) -> None:
        one = pattern_hash("gpio", Pattern({"pin": "pump"}, "some words"), NOTHING)
        assert pattern_hash("gpio", Pattern({"pin": "pump"}, "others"), NOTHING) == one
        assert pattern_hash("gpio", Pattern({"pin": "led"}, "some words"), NOTHING) != one
        assert pattern_hash("pwm", Pattern({"pin": "pump"}, "some words"), NOTHING) != one

    def test_it_is_never_the_hash_of_a_call(self) -> None:
        assert pattern_hash("t", Pattern({}, ""), NOTHING) != call_hash("t", "{}")

    def test_it_holds_in_the_same_folder_and_environment_whatever_the_files_say(
        self, workspace: Path
    ) -> None:
        pattern = Pattern({"program": "sh"}, "")
        before = pattern_hash("shell", pattern, Dependence(workspace, ("run.sh",)))
        rewritten(workspace)
        assert pattern_hash("shell", pattern, Dependence(workspace, ("run.sh",))) == before
        assert pattern_hash("shell", pattern, Dependence(workspace, (), {"A": "1"})) != before
        swapped(workspace)
        assert pattern_hash("shell", pattern, Dependence(workspace, ("run.sh",))) != before


def test_without_a_folder_no_file_is_looked_at(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    dependence = Dependence(None, ("run.sh",))
    before = act_hash("t", "{}", dependence)
    rewritten(workspace)
    assert act_hash("t", "{}", dependence) == before
