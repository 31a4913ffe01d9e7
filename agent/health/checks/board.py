"""Checks of the boards: connection, firmware, enable lines and emergency stop."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from agent.health.base import Finding, Level, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ports import serial_devices
from agent.health.status import BoardReport, read_status
from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.image import CARRIED, SUFFIX, BadImage, FirmwareImage, offer, read_image, version_of
from agent.peripherals.enable import missing_library
from agent.security.estop import FILE_NAME, read_reason


async def check_estop(patient: Patient) -> Finding:
    """While it is set nothing else that is found explains why nothing moves."""
    reason = await in_daemon_thread(lambda: _reason(patient.state_dir))
    if reason is None:
        return Finding.ok("not set")
    return Finding.warning(
        f"the emergency stop is set ({reason}): clear it with `barnacle estop --clear`"
    )


def _reason(folder: Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        # An agent takes what it cannot look at for a stop; who asks is told that they may not look
        (folder / FILE_NAME).stat()
    return read_reason(folder)


async def check_enable(patient: Patient) -> Finding:
    """The library alone: the pins themselves belong to the agent that is at work."""
    if not patient.enable_gpios:
        return Finding.ok("no enable_gpio configured")
    pins = ", ".join(f"GPIO {gpio}" for gpio in patient.enable_gpios)
    if trouble := missing_library():
        return Finding.failed(f"{pins}: {trouble}")
    return Finding.ok(f"{pins} enables the power of the outputs")


async def check_firmware(patient: Patient) -> Finding:
    """As the agent that runs says; without one the check of the board looks."""
    images = await in_daemon_thread(carried)
    told = f"this installation has firmware for {len(images)} kinds of boards"
    status = read_status(patient.status_file)
    if status is None or not status.is_running:
        return Finding.ok(f"{told}; no agent is running, so no board was compared")
    ready = [board for board in status.every_board if board.state == BoardState.READY.value]
    if other := [said for board in ready if (said := _difference(board, images))]:
        return Finding.warning("; ".join(other))
    boards = ", ".join(f"{board.board} {board.firmware}" for board in ready)
    return Finding.ok(f"{told}; boards run {boards}" if boards else f"{told}; no board is ready")


def _difference(board: BoardReport, images: list[FirmwareImage]) -> str:
    for image in images:
        if image.about.board == board.board:
            runs, carries = version_of(board.firmware), image.about.version
            if runs < carries:
                return (
                    f"{board.board} runs {board.firmware}, {image.shown} is available: install it "
                    "with `barnacle board update`"
                )
            if runs > carries:
                return (
                    f"{board.board} runs {board.firmware}, newer than {image.shown} of this "
                    "installation"
                )
    return ""


def carried(folder: Path = CARRIED) -> list[FirmwareImage]:
    found: list[FirmwareImage] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found.append(read_image(path))
        except BadImage:
            continue
    return found


# Whether its outputs are locked is asked once it is ready, and answered in a few milliseconds
FIRST_NEWS_S = 0.1
_BY_GRAVITY = (Level.OK, Level.WARNING, Level.FAILED)


async def check_board(patient: Patient) -> Finding:
    """Ask the running agent, which has the ports; without one, ask the boards."""
    status = read_status(patient.status_file)
    if status is not None and status.is_running:
        return _together([_as_reported(patient, board) for board in status.every_board])
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


def _as_reported(patient: Patient, board: BoardReport) -> Finding:
    if board.state == BoardState.READY.value:
        said = f"{board.board} answers the running agent at {board.port}"
        return Finding.warning(f"{said}: {board.trouble}") if board.trouble else Finding.ok(said)
    said = (
        f"the running agent reports that {board.name} is {board.state}: "
        f"{board.trouble or board.port}"
    )
    is_looked_for = board.state == BoardState.ABSENT.value and not board.port
    # A port that somebody wrote down is expected; without one the agent may live boardless
    is_expected = patient.needs_board or not is_looked_for
    return Finding.failed(said) if is_expected else Finding.warning(said)


async def _absent(patient: Patient, found: BoardStatus) -> Finding:
    devices = await in_daemon_thread(serial_devices)
    others = ", ".join(device.path for device in devices)
    hint = f" (serial ports found: {others})" if others else ""
    sentence = f"{found.trouble}{hint}"
    # As above
    return Finding.failed(sentence) if patient.needs_board else Finding.warning(sentence)


def _shown(found: BoardStatus) -> str:
    if found.identity is None:
        return "a board"
    return f"{found.identity.board} (firmware {found.identity.firmware})"
