"""Does each board run the firmware that this agent carries?"""

from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.status import BoardReport, read_status
from agent.link.base import BoardState
from agent.link.image import CARRIED, SUFFIX, BadImage, Image, read_image, version_of


async def check(patient: Patient) -> Finding:
    """As the agent that runs says; without one the check of the board looks."""
    images = await in_daemon_thread(carried)
    told = f"this agent carries firmware for {len(images)} kinds of boards"
    status = read_status(patient.status_file)
    if status is None or not status.is_running:
        return Finding.ok(f"{told}; no agent runs, so none is compared")
    ready = [board for board in status.every_board if board.state == BoardState.READY.value]
    if other := [said for board in ready if (said := _difference(board, images))]:
        return Finding.warning("; ".join(other))
    boards = ", ".join(f"{board.board} {board.firmware}" for board in ready)
    return Finding.ok(f"{told}; boards run {boards}" if boards else f"{told}; no board is ready")


def _difference(board: BoardReport, images: list[Image]) -> str:
    for image in images:
        if image.about.board == board.board:
            runs, carries = version_of(board.firmware), image.about.version
            if runs < carries:
                return (
                    f"{board.board} runs {board.firmware}, and {image.shown} is here: "
                    "`barnacle board update` puts it there"
                )
            if runs > carries:
                return f"{board.board} runs {board.firmware}, newer than {image.shown} here"
    return ""


def carried(folder: Path = CARRIED) -> list[Image]:
    found: list[Image] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found.append(read_image(path))
        except BadImage:
            continue
    return found
