"""`/board`: how the boards are and what is wired to them; no model is asked."""

from collections.abc import Sequence

from agent.link.base import Board, BoardState

NONE_TEXT = "There is no board."


def board_report(boards: Sequence[Board]) -> str:
    return "\n".join(line for board in boards for line in _lines(board)) or NONE_TEXT


def _lines(board: Board) -> list[str]:
    status = board.status
    known = status.identity
    if status.state is BoardState.READY and known is not None:
        said = f"{known.board} on {status.port}, firmware {known.firmware}"
    else:
        said = status.state.value
    trouble = f" ({status.trouble})" if status.trouble else ""
    lines = [f"{board.name}: {said}{trouble}."]
    pins = board.manifest.pins if board.manifest else ()
    lines += [f"- {pin.name} ({pin.pin}): {', '.join(pin.can)}" for pin in pins]
    if status.state is BoardState.READY:
        lines.append(f"Link: {board.counters.in_words()}.")
    return lines
