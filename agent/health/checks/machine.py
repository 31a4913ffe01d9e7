"""Checks of the machine: clock, Python, power, heat, pins, I2C, camera and screen."""

import importlib.util
import platform
import sys
import time
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.computer import HOT_C
from agent.machine.hardware_form import MODEL
from agent.machine.power import SLOWED, UNDER_VOLTAGE
from agent.machine.readings import Readings
from agent.peripherals.gpio import trouble_with_pins
from agent.peripherals.i2c import trouble_with_buses
from agent.schedule.trust import is_trusted
from agent.system.clock import RELEASED_S
from agent.tools.camera import trouble_with_camera
from agent.tools.screenshot import find_display

_SUPPLY = (
    "use the power supply made for this Pi with a short cable, and power hungry devices separately"
)
_UNDER_VOLTAGE_BEFORE = "under-voltage since start"


async def check_power(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient.readings))


def _finding(readings: Readings) -> Finding:
    throttled, heat = readings.throttled(), readings.temperature_c()
    warm = "" if heat is None else f", processor {heat:g} °C"
    told = throttled or ()
    if UNDER_VOLTAGE in told:
        return Finding.failed(f"the supply voltage is too low: {_SUPPLY}")
    if _UNDER_VOLTAGE_BEFORE in told:
        return Finding.warning(f"the supply voltage has been too low since the start: {_SUPPLY}")
    if SLOWED.intersection(told) or (heat is not None and heat >= HOT_C):
        return Finding.warning(
            f"the processor is too hot and slows down{warm}: improve the air flow or add "
            "a heat sink"
        )
    if throttled is None:
        return Finding.ok(f"this kernel does not report the voltage{warm}")
    before = f" ({', '.join(told)})" if told else ""
    return Finding.ok(f"supply voltage correct{warm}{before}")


_OLDEST = (3, 11)
_EXTRAS = {"embeddings": ("numpy", "onnxruntime", "tokenizers")}
_EXTRAS_OF_A_PI = {"pi": ("gpiozero", "lgpio", "smbus2")}
_MODEL_FILE = Path("/", MODEL)


async def check_python(_: Patient) -> Finding:
    version = platform.python_version()
    if sys.version_info < _OLDEST:
        return Finding.failed(f"Python {version} is too old: install 3.11 or newer")
    extras = {**_EXTRAS, **(_EXTRAS_OF_A_PI if _on_a_pi() else {})}
    missing = [extra for extra, modules in extras.items() if not all(map(_is_there, modules))]
    if missing:
        parts = ",".join(missing)
        return Finding.warning(
            f"Python {version} lacks optional parts: run `.venv/bin/pip install '.[{parts}]'` "
            "in the checkout"
        )
    return Finding.ok(f"Python {version} with every optional part that this system needs")


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _on_a_pi() -> bool:
    try:
        return "Raspberry Pi" in _MODEL_FILE.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


_EARLIEST_S = RELEASED_S
# Memories are newer than the clock by more than this: it went back
_TOLERANCE_S = 3600
# Nobody keeps one program for as long: a clock that is further ahead was set wrong
_LATEST_S = RELEASED_S + 30 * 365 * 86_400
# A clock that waits for the network is not set while it waits
_BY_HAND = "`sudo timedatectl set-ntp false`, then `sudo timedatectl set-time 'YYYY-MM-DD HH:MM'`"


async def check_clock(patient: Patient) -> Finding:
    now_s = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now_s))
    remedy = f"connect the network, or set it yourself: {_BY_HAND}"
    if now_s < _EARLIEST_S:
        return Finding.failed(
            f"the clock is far behind ({shown} UTC), so no scheduled job runs: {remedy}"
        )
    if now_s > _LATEST_S:
        return Finding.failed(f"the clock is far ahead ({shown} UTC): {remedy}")
    newest_s = await in_daemon_thread(lambda: _newest_change_s(patient.databases))
    if newest_s > now_s + _TOLERANCE_S:
        return Finding.failed(f"the clock ({shown} UTC) is older than the stored data: {remedy}")
    if not is_trusted(now_s, patient.readings.kernel.root):
        return Finding.warning(
            f"the network has not set the clock yet ({shown} UTC), so no scheduled job runs: "
            "connect it (`timedatectl` shows the time servers), or set the clock yourself: "
            f"{_BY_HAND}"
        )
    return Finding.ok(f"{shown} UTC")


def _newest_change_s(files: tuple[Path, ...]) -> float:
    return max((path.stat().st_mtime for path in files if path.exists()), default=0.0)


async def check_screen(patient: Patient) -> Finding:
    """As seen from here: a service has another environment than a person at a desktop."""
    if trouble := find_display(patient.environ).trouble:
        return Finding.ok(f"screenshot tool disabled: {trouble}")
    return Finding.ok("screen found; tool screenshot is available")


async def check_camera(patient: Patient) -> Finding:
    """Nobody has to have one: without it there is a tool less."""
    if trouble := trouble_with_camera(patient.devices):
        return Finding.ok(f"camera tool disabled: {trouble}")
    return Finding.ok("camera found: camera_capture takes pictures")


async def check_i2c(patient: Patient) -> Finding:
    """The buses alone: `i2c_scan` finds out who is there."""
    if not patient.i2c:
        return Finding.ok("no [i2c] configured")
    if trouble := trouble_with_buses(patient.devices):
        return Finding.warning(f"I2C tools disabled: {trouble}")
    absent = [
        f"{name} (/dev/i2c-{device.bus})"
        for name, device in patient.i2c.items()
        if not (patient.devices / f"i2c-{device.bus}").exists()
    ]
    if absent:
        return Finding.warning(f"missing I2C buses: {', '.join(absent)}")
    return Finding.ok(f"tools available for {', '.join(patient.i2c)}")


async def check_pins(patient: Patient) -> Finding:
    """Without trying: the pins belong to the agent that is at work."""
    if not patient.pins:
        return Finding.ok("no [pins] configured")
    names = ", ".join(f"{name} (GPIO {pin.gpio})" for name, pin in patient.pins.items())
    if trouble := trouble_with_pins(patient.devices):
        return Finding.warning(f"pin tools disabled: {trouble}")
    return Finding.ok(f"tools available for {names}")
