import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.tools.skill_folder import MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, skill_at, skills_in
from tests.fakes.skill_folders import BODY, put


def test_a_skill_has_a_description_and_files(tmp_path: Path) -> None:
    folder = put(tmp_path, front='name: watering\ndescription: >-\n  "How the basil\n  is watered"')
    (folder / "ref").mkdir()
    (folder / "ref" / "soil.txt").write_text("clay\r\nsand")
    (skill,) = skills_in(tmp_path)
    assert (skill.name, skill.trouble) == ("watering", "")
    assert skill.description == "How the basil is watered"
    assert skill.files["ref/soil.txt"] == "clay\nsand"
    assert skill.files["SKILL.md"].endswith(BODY)


def test_every_change_of_text_or_name_is_another_hash(tmp_path: Path) -> None:
    folder = put(tmp_path)
    (folder / "a.md").write_text("one")
    digests = {skill_at(tmp_path, "watering").digest}
    (folder / "a.md").write_text("two")
    digests.add(skill_at(tmp_path, "watering").digest)
    (folder / "a.md").rename(folder / "b.md")
    digests.add(skill_at(tmp_path, "watering").digest)
    assert len(digests) == 3


def linked(folder: Path) -> None:
    (folder / "notes.md").symlink_to("/etc/hostname")


def twice_named(folder: Path) -> None:
    (folder / "notes.md").hardlink_to(folder / "SKILL.md")


def piped(folder: Path) -> None:
    os.mkfifo(folder / "notes.md")


def scripted(folder: Path) -> None:
    (folder / "run.sh").write_text("echo hi")


def disguised(folder: Path) -> None:
    (folder / "run.md").write_text("#!/bin/sh\necho hi")


def crowded(folder: Path) -> None:
    for number in range(MAX_FILES + 1):
        (folder / f"{number}.md").touch()


def deep(folder: Path) -> None:
    inner = folder.joinpath(*["d"] * (MAX_DEPTH + 1))
    inner.mkdir(parents=True)
    (inner / "a.md").touch()


def large(folder: Path) -> None:
    (folder / "a.md").write_text("a b" * MAX_FILE_BYTES)


def heavy(folder: Path) -> None:
    for number in range(5):
        (folder / f"{number}.md").write_text("a b " * (MAX_FILE_BYTES // 4))


def nameless(folder: Path) -> None:
    (folder / "SKILL.md").unlink()


def binary(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"\xff\xfe\x00")


def hidden(folder: Path) -> None:
    (folder / "a.txt").write_text("see\u200b nothing")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (linked, "is a link"),
        (twice_named, "more than one name"),
        (piped, "not a plain file"),
        (scripted, "holds only text"),
        (disguised, "is a script"),
        (crowded, "more than 32 files"),
        (deep, "deeper than"),
        (large, "larger than 64 KB"),
        (heavy, "larger than 256 KB"),
        (nameless, "no SKILL.md"),
        (binary, "not UTF-8"),
        (hidden, "invisible character"),
    ],
)
def test_what_cannot_be_taken_as_it_is_is_refused_whole(
    tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    spoil(put(tmp_path))
    (skill,) = skills_in(tmp_path)
    assert why in skill.trouble
    assert (skill.files, skill.digest) == ({}, "")


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("name: other\ndescription: x", "differs from the folder"),
        ("name: watering", "no description"),
        ("title: x", "differs from the folder"),
    ],
)
def test_the_front_has_to_name_and_describe_it(tmp_path: Path, front: str, why: str) -> None:
    put(tmp_path, front=front)
    assert why in skill_at(tmp_path, "watering").trouble


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "watering")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "watering").symlink_to(tmp_path / "elsewhere" / "watering")
    (tmp_path / "skills" / "README.md").touch()
    put(tmp_path / "skills", "Bad Name\x1b[31m", front="name: x")
    assert all(one.trouble and one.trouble.isprintable() for one in skills_in(tmp_path / "skills"))
    assert all(one.name.isprintable() for one in skills_in(tmp_path / "skills"))
    for name in ("../elsewhere", "..", "", "/etc", "a/b"):
        assert "must have a name" in skill_at(tmp_path / "skills", name).trouble


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert list(skills_in(tmp_path / "none")) == []
