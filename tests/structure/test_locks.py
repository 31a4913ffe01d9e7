"""The locks are complete, and the rules that say so can fail."""

import shutil
from pathlib import Path

import pytest

from tests.structure.locks import pins, violations
from tests.structure.sources import ROOT


def test_the_locks_are_complete() -> None:
    assert "\n".join(violations()) == ""


def test_no_lock_brings_the_model_hub_client() -> None:
    for lock in (ROOT / "scripts").glob("*.lock"):
        assert "huggingface-hub" not in pins(lock)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for file in ("pyproject.toml", *(f"scripts/{lock.name}" for lock in _locks())):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_a_dependency_without_pin_is_named(tree: Path) -> None:
    project = tree / "pyproject.toml"
    text = project.read_text().replace('"tinydb>=4.8"', '"tinydb>=4.8", "New.Thing[x]>=1"')
    project.write_text(text)
    assert [problem.split(":")[0] for problem in violations(tree)] == [
        "requirements.lock",
        "requirements-dev.lock",
    ]
    assert all("new-thing is missing" in problem for problem in violations(tree))


def test_a_pin_without_hash_is_named(tree: Path) -> None:
    with (tree / "scripts/requirements-stubs.lock").open("a") as lock:
        lock.write("something==1.0\n")
    [problem] = violations(tree)
    assert problem == "requirements-stubs.lock: no hash: something==1.0"


def test_two_versions_for_one_environment_are_named(tree: Path) -> None:
    lock = tree / "scripts/requirements.lock"
    lock.write_text(lock.read_text().replace("\nmsgspec==", "\nmsgspec==0."))
    [problem] = violations(tree)
    assert problem.startswith("msgspec: ")


def _locks() -> list[Path]:
    return sorted((ROOT / "scripts").glob("*.lock"))
