"""Is there a camera to take pictures with?"""

from agent.health.base import Finding, Patient
from agent.tools.camera import trouble_with_camera


async def check(patient: Patient) -> Finding:
    """Nobody has to have one: without it there is a tool less."""
    if trouble := trouble_with_camera(patient.devices):
        return Finding.ok(f"there is no camera_capture: {trouble}")
    return Finding.ok("a camera is there: camera_capture takes pictures")
