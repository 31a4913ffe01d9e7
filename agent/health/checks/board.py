"""Does a board answer, or what is at its port?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ports import serial_devices
from agent.health.status import BoardReport, Status, read_status
from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus


async def check(patient: Patient) -> Finding:
    """Ask the running agent, which has the port; without one, ask the board."""
    status = read_status(patient.status_file)
    if status is not None and status.is_running:
        return _as_reported(status)
    async with visit(patient.make_board()) as board:
        found = board.status
    if found.state is BoardState.READY:
        return Finding.ok(f"{_shown(found)} answers at {found.port}")
    if found.state is BoardState.ABSENT:
        return await _absent(patient, found)
    return Finding.failed(f"the board at {found.port} does not answer: {found.trouble}")


def _as_reported(status: Status) -> Finding:
    board: BoardReport = status.board
    if board.state == BoardState.READY.value:
        return Finding.ok(f"{board.board} answers the running agent at {board.port}")
    return Finding.failed(
        f"the running agent says that its board is {board.state}: {board.trouble or board.port}"
    )


async def _absent(patient: Patient, found: BoardStatus) -> Finding:
    devices = await in_daemon_thread(serial_devices)
    others = ", ".join(device.path for device in devices)
    hint = f" (serial ports that are there: {others})" if others else ""
    sentence = f"{found.trouble}{hint}"
    # A port that somebody wrote down is expected; without one the agent may live boardless
    return Finding.failed(sentence) if patient.board_port else Finding.warning(sentence)


def _shown(found: BoardStatus) -> str:
    if found.identity is None:
        return "a board"
    return f"{found.identity.board} (firmware {found.identity.firmware})"
