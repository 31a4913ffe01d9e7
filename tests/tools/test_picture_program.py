from pathlib import Path

import pytest

from agent.messages import Provenance
from agent.tools import picture_program
from agent.tools.picture_program import FOLDER, MAX_KEPT, Album, taken
from tests.fakes.clock import SteppedClock
from tests.fakes.picture_programs import install, png


@pytest.fixture
def album(tmp_path: Path) -> Album:
    return Album(tmp_path / "workspace", SteppedClock())


async def failed(album: Album, behaviour: str) -> str:
    folder = install(album.workspace.parent / "bin", "snap", behaviour)
    result = await taken(album, "camera", [f"{folder}/snap"])
    assert not result.success
    assert not (album.workspace / FOLDER).exists()
    assert result.text.isprintable()
    return result.text


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("without_camera", "no cameras available"),
        ("flooding", "larger than 20 MB"),
        ("lying", "not a PNG"),
        ("silent", "ended with status 0"),
        ("colourful", "ERROR: [31mred[0m alert"),
    ],
)
async def test_what_goes_wrong_is_a_sentence_and_leaves_no_file(
    album: Album, behaviour: str, why: str
) -> None:
    assert why in await failed(album, behaviour)


async def test_a_program_that_never_ends_is_ended_with_its_children(
    album: Album, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_program, "PICTURE_TIMEOUT_S", 0.3)
    assert "no picture within" in await failed(album, "never_ending")


async def test_a_program_that_is_gone_is_a_sentence(album: Album) -> None:
    result = await taken(album, "camera", ["/nowhere/rpicam-still"])
    assert not result.success
    assert "No such file" in result.text


async def test_a_picture_is_trusted_like_a_page(album: Album) -> None:
    folder = install(album.workspace.parent / "bin", "snap", "working")
    result = await taken(album, "camera", [f"{folder}/snap"])
    assert (result.success, result.provenance) == (True, Provenance.WEB)
    assert result.source == "camera"


async def test_only_the_newest_are_kept(album: Album) -> None:
    folder = install(album.workspace.parent / "bin", "snap", "working", png(3, 2))
    kept = album.workspace / FOLDER
    kept.mkdir(parents=True)
    for number in range(MAX_KEPT + 3):
        (kept / f"camera-19990101-{number:06}-ab.jpg").touch()
    (kept / "holiday.jpg").touch()
    assert (await taken(album, "camera", [f"{folder}/snap"])).success
    names = sorted(path.name for path in kept.iterdir())
    assert len(names) == MAX_KEPT + 1
    assert "holiday.jpg" in names
    assert "camera-19990101-000003-ab.jpg" not in names
