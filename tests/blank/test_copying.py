"""Our firmware put onto a board at its prompt: the real MicroPython, and a folder for its flash."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.blank import copying
from agent.blank.board_state import FlashState, SlotPlace
from agent.blank.carried import MAIN, BoardFile, carried_boards
from agent.errors import LinkLost
from agent.link.port import open_port
from agent.link.prompt import Prompt
from agent.link.settings import START_BAUD
from firmware.host.image import board_bundle, image_of, installed_of, start_archive
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.prompt_board import prompt_board

pytestmark = pytest.mark.skipif(bool(unavailable_reason()), reason=str(unavailable_reason()))

# Of three pieces, of one, and what starts them
FILES = (
    BoardFile("slot_a", os.urandom(2 * copying._CHUNK_BYTES + 7)),
    BoardFile("boot.py", b"print('boot')\n"),
    BoardFile(MAIN, b"print('main')\n"),
)


class CutOff(Exception):
    """The cable is pulled out here."""


async def put(
    path: str, files: tuple[BoardFile, ...], on_copied: Callable[[int, int], None]
) -> FlashState:
    port = await open_port(path, START_BAUD)
    try:
        prompt = Prompt(port)
        await prompt.reach(lambda _hint: None)
        found = await copying.ask_state(prompt)
        await copying.put(files, found, prompt, on_copied)
        return found
    finally:
        await port.aclose()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def ignored(_sent: int, _whole: int) -> None:
    return


def test_every_file_of_a_real_firmware_arrives(tmp_path: Path) -> None:
    carried, flash = tmp_path / "carried", tmp_path / "flash"
    carried.mkdir()
    flash.mkdir()
    name = "nucleo_f411re"
    files = board_bundle(name)
    (carried / f"{name}.fw").write_bytes(image_of(name, files, SlotPlace.FILES))
    wanted = installed_of(name, files, place=SlotPlace.FILES)
    (carried / f"{name}.start").write_bytes(start_archive(name, wanted))
    (board,) = carried_boards(carried)
    told: list[tuple[int, int]] = []
    with prompt_board(flash) as path:
        found = asyncio.run(put(path, board.files, lambda *progress: told.append(progress)))
    # As `scripts/flash` would have put them there
    assert contents(flash) == {file.target: file.content for file in wanted}
    assert told[-1][0] == told[-1][1] == sum(len(file.content) for file in board.files)
    assert found.version >= (1, 24)
    found.require_room(name, board.files)


def test_older_files_of_ours_go_first_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    for name in ("main.py", "slots.mpy", "frame.py", "node/session.py"):
        (tmp_path / name).write_text("older")
    (tmp_path / "mine.txt").write_text("not ours")
    with prompt_board(tmp_path) as path:
        asyncio.run(put(path, FILES, ignored))
    assert contents(tmp_path) == {
        **{file.target: file.content for file in FILES},
        "mine.txt": b"not ours",
    }
    assert not (tmp_path / "node").exists()


# The whole is five pieces
@pytest.mark.parametrize("pieces", range(5))
def test_cut_at_any_piece_nothing_is_started_and_it_can_be_begun_again(
    tmp_path: Path, pieces: int
) -> None:
    (tmp_path / MAIN).write_text("older")
    left = pieces

    def cut(_sent: int, _whole: int) -> None:
        nonlocal left
        if not left:
            raise CutOff
        left -= 1

    with prompt_board(tmp_path) as path, pytest.raises(CutOff):
        asyncio.run(put(path, FILES, cut))
    # The last piece is main.py's own: it may be there once all the others are
    assert not (tmp_path / MAIN).exists() or pieces == 4
    with prompt_board(tmp_path) as path:
        asyncio.run(put(path, FILES, ignored))
    assert contents(tmp_path) == {file.target: file.content for file in FILES}


def test_what_did_not_arrive_whole_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A flash that loses the last byte of what is written
    lossy = copying._CLOSE + "import os\ndata = open('slot_a', 'rb').read()[:-1]\n"
    lossy += "file = open('slot_a', 'wb')\nfile.write(data)\nfile.close()\n"
    monkeypatch.setattr(copying, "_CLOSE", lossy)
    with (
        prompt_board(tmp_path) as path,
        pytest.raises(copying.CopyFailed, match="not as sent: slot_a"),
    ):
        asyncio.run(put(path, FILES, ignored))


def test_a_fault_of_the_board_is_told_in_its_words(tmp_path: Path) -> None:
    folder = BoardFile("no/such/folder", b"x")
    with prompt_board(tmp_path) as path, pytest.raises(copying.CopyFailed, match="OSError"):
        asyncio.run(put(path, (folder,), ignored))


def test_a_reset_takes_the_board_away(tmp_path: Path) -> None:
    async def reset(path: str) -> None:
        port = await open_port(path, START_BAUD)
        try:
            prompt = Prompt(port)
            await prompt.reach(lambda _hint: None)
            await copying.restart(prompt)
            with pytest.raises(LinkLost):
                await prompt.reach(lambda _hint: None, limit_s=1.0)
        finally:
            await port.aclose()

    with prompt_board(tmp_path) as path:
        asyncio.run(reset(path))
    assert (tmp_path / "reset").exists()
