"""What the status of a board says when the agent carries other firmware for it."""

import functools
import json
from pathlib import Path

import pytest

from agent.link import board as board_module
from agent.link.base import BoardState
from agent.link.image import offer
from firmware.host.bundle import BundledFile
from firmware.host.image import joined
from tests.fakes.linked_board import ready
from tests.fakes.virtual_time import in_virtual_time


def carry(folder: Path, build: int) -> None:
    about = json.dumps({"board": "scripted", "build": build, "version": [0, 1, 0]}).encode()
    (folder / "scripted.fw").write_bytes(joined([BundledFile("about.json", about)]))


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "carried"
    folder.mkdir()
    monkeypatch.setattr(board_module, "offer", functools.partial(offer, folder=folder))
    return folder


@in_virtual_time
async def test_another_build_is_offered(tmp_path: Path, carried: Path) -> None:
    carry(carried, build=43)
    async with ready(tmp_path) as (link, _board):
        await link.until(BoardState.READY, "firmware 0.1.0 (build 43) is available for scripted")


@in_virtual_time
async def test_what_runs_already_is_not(tmp_path: Path, carried: Path) -> None:
    carry(carried, build=42)
    async with ready(tmp_path) as (link, _board):
        await link.board.exchange(3, b"")
        assert link.board.status.trouble == ""
