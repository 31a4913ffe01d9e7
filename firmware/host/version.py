"""The version of the firmware, read from where the firmware itself has it."""

import ast

from firmware.host.bundle import FIRMWARE


def firmware_version() -> tuple[int, int, int]:
    """FIRMWARE_VERSION of node/identity.py."""
    for node in ast.parse((FIRMWARE / "node" / "identity.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FIRMWARE_VERSION":
            major, minor, patch = ast.literal_eval(node.value)
            return major, minor, patch
    raise ValueError("node/identity.py has no FIRMWARE_VERSION")
