"""Trials of the started image, one scenario a file, in the order of a whole run.

Each has `run(bench, amount)`: what it returns goes into the table, and it raises where something is
not as it must be. The first line of its docstring says what it tries.
"""

# A trial begins with whatever the one before it left, so that few of them need a start of their own
ORDER = (
    "first_start",
    "system",
    "security",
    "conversation",
    "console",
    "signal_code",
    "unplugged",
    "own_pins",
    "simulated_pins",
    "blank_board",
    "power_button",
    "frozen_agent",
    "full_disk",
    "full_settings",
    "idle_writes",
    "hung_kernel",
    "power_cut",
    "early_ends",
    "cut_points",
    "read_only",
    "wrong_clock",
    "wifi",
    "new_card",
    "browser_start",
    "signal",
    "update",
    "update_by_switch",
    "older_card",
)
