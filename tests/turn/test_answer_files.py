from pathlib import Path

import pytest

from agent.turn.answer_files import MAX_FILES, enclosed


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures/a.png").write_bytes(b"png")
    (folder / "b.txt").write_text("text")
    (folder / "empty").touch()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def test_files_leave_the_text_and_go_with_it(workspace: Path) -> None:
    said = enclosed(
        "Here it is:\n[IMAGE:pictures/a.png]\n\nand [document:b.txt]", workspace, takes_files=True
    )
    assert said.text == "Here it is:\n\nand"
    assert [(file.name, file.media_type, file.size_bytes) for file in said.files] == [
        ("a.png", "image/png", 3),
        ("b.txt", "text/plain", 4),
    ]
    assert said.files[0].path == str(workspace / "pictures/a.png")


def test_a_picture_as_a_document_is_sent_as_it_is(workspace: Path) -> None:
    (file,) = enclosed("[DOCUMENT:pictures/a.png]", workspace, takes_files=True).files
    assert file.media_type == "application/octet-stream"


@pytest.mark.parametrize("before", ["./", "{workspace}/", "{workspace}/./"])
def test_a_path_is_taken_as_the_file_tools_take_it(workspace: Path, before: str) -> None:
    path = f"{before.format(workspace=workspace)}pictures/a.png"
    (file,) = enclosed(f"[IMAGE:{path}]", workspace, takes_files=True).files
    assert file.path == str(workspace / "pictures/a.png")


def test_an_answer_that_is_a_file_says_its_name(workspace: Path) -> None:
    assert enclosed("[IMAGE:pictures/a.png]", workspace, takes_files=True).text == "a.png"


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "/etc/passwd", "link.txt", "missing", "pictures", "empty", "a/../b.txt"],
)
def test_only_plain_files_of_the_workspace_go(workspace: Path, path: str) -> None:
    said = enclosed(f"Look: [DOCUMENT:{path}]", workspace, takes_files=True)
    assert said.files == ()
    assert said.text.startswith(f"Look: ({path} is not sent: ")


def test_where_no_files_are_taken_the_place_is_told(workspace: Path) -> None:
    said = enclosed(f"[IMAGE:{workspace}/pictures/a.png]", workspace, takes_files=False)
    assert (said.text, said.files) == ("(file: pictures/a.png)", ())


def test_the_same_file_goes_once_and_not_too_many_go(workspace: Path) -> None:
    assert len(enclosed("[FILE:b.txt] [FILE:b.txt]", workspace, takes_files=True).files) == 1
    for number in range(MAX_FILES + 1):
        (workspace / f"{number}.md").write_text("x")
    text = " ".join(f"[FILE:{number}.md]" for number in range(MAX_FILES + 1))
    said = enclosed(text, workspace, takes_files=True)
    assert len(said.files) == MAX_FILES
    assert "more than" in said.text
