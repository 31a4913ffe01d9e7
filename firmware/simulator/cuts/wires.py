# Stands in for the host's side of the simulated board while power cuts are tried: one ends nothing
# but the operation in which it comes.

# Of the flash, until the power is cut; negative: it is not
operations_left = -1
operations = 0
# Time is of no matter to a cut
erase_ms = 0


class PowerLost(Exception):
    pass


def flash_operation():
    global operations_left, operations  # noqa: PLW0603  - there is one power supply
    operations += 1
    if operations_left < 0:
        return False
    operations_left -= 1
    return operations_left < 0


def restart():
    raise PowerLost
