"""Boards of the configuration, each with its folder and the device's lineage."""

from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.settings import Paths, Settings
from agent.system.clock import Clock


def open_board(settings: BoardSettings, paths: Paths, clock: Clock) -> SerialBoard:
    """Return a board that looks for its port once it runs."""
    folder = paths.board_folder(settings)
    return SerialBoard(settings, folder, clock, lineage=paths.lineage())


def open_boards(settings: Settings, paths: Paths, clock: Clock) -> tuple[SerialBoard, ...]:
    """Return every configured board."""
    return tuple(open_board(board, paths, clock) for board in settings.every_board())
