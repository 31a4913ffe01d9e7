"""Does every board answer, or what is at its port?"""

import asyncio
from collections.abc import Sequence

from agent.health.base import Finding, Level, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ports import serial_devices
from agent.health.status import BoardReport, read_status
from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.image import offer

# Whether its outputs are locked is asked once it is ready, and answered in a few milliseconds
FIRST_NEWS_S = 0.1
_BY_GRAVITY = (Level.OK, Level.WARNING, Level.FAILED)


async def check(patient: Patient) -> Finding:
    """Ask the running agent, which has the ports; without one, ask the boards."""
    status = read_status(patient.status_file)
    if status is not None and status.is_running:
        return _together([_as_reported(board) for board in status.every_board])
    boards = patient.make_boards()
    return _together(await asyncio.gather(*(_visited(patient, board) for board in boards)))


def _together(findings: Sequence[Finding]) -> Finding:
    """All of them in one, as grave as the gravest."""
    gravest = max(findings, key=lambda finding: _BY_GRAVITY.index(finding.level))
    return Finding(gravest.level, "; ".join(finding.sentence for finding in findings))


async def _visited(patient: Patient, board: SerialBoard) -> Finding:
    async with visit(board):
        if board.status.state is BoardState.READY:
            await asyncio.sleep(FIRST_NEWS_S)
        found = board.status
    if found.state is BoardState.READY:
        said = f"{_shown(found)} answers at {found.port}"
        trouble = found.trouble or (offer(found.identity) if found.identity else "")
        return Finding.warning(f"{said}: {trouble}") if trouble else Finding.ok(said)
    if found.state is BoardState.ABSENT:
        return await _absent(patient, found)
    return Finding.failed(f"the board at {found.port} does not answer: {found.trouble}")


def _as_reported(board: BoardReport) -> Finding:
    if board.state == BoardState.READY.value:
        said = f"{board.board} answers the running agent at {board.port}"
        return Finding.warning(f"{said}: {board.trouble}") if board.trouble else Finding.ok(said)
    return Finding.failed(
        f"the running agent says that its {board.name} is {board.state}: "
        f"{board.trouble or board.port}"
    )


async def _absent(patient: Patient, found: BoardStatus) -> Finding:
    devices = await in_daemon_thread(serial_devices)
    others = ", ".join(device.path for device in devices)
    hint = f" (serial ports that are there: {others})" if others else ""
    sentence = f"{found.trouble}{hint}"
    # A port that somebody wrote down is expected; without one the agent may live boardless
    return Finding.failed(sentence) if patient.needs_board else Finding.warning(sentence)


def _shown(found: BoardStatus) -> str:
    if found.identity is None:
        return "a board"
    return f"{found.identity.board} (firmware {found.identity.firmware})"
