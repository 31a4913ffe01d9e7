# The rows of the simulated board's pins, as its firmware has them configured.

import board

BY_PIN = {row["pin"]: row for row in board.PINS}
BY_NAME = {row["name"]: row for row in board.PINS}


def replace(configured):
    BY_PIN.clear()
    BY_NAME.clear()
    for row in board.PINS + tuple(configured):
        BY_PIN[row["pin"]] = row
        BY_NAME[row["name"]] = row


def of_pin(pin):
    return BY_PIN.get(pin) or {"name": pin.lower(), "pin": pin}


def is_output(row):
    # A thermostat switches its relay by itself
    return "out" in row.get("can", ()) or row.get("kind") in ("thermostat", "pid")
