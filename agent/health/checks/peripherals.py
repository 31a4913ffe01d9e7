"""Checks of this machine's own pins, I2C buses, camera and screen."""

from agent.health.base import Finding, Patient
from agent.peripherals.gpio import trouble_with_pins
from agent.peripherals.i2c import trouble_with_buses
from agent.tools.camera import trouble_with_camera
from agent.tools.screenshot import find_display


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
