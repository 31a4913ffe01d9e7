# Stands in for MicroPython's _onewire module: what its C functions do to a line.

import things


def reset(pin):
    # All of them at once: each is to hear it
    present = [thing.reset_line() for thing in things.on_line(pin.name)]
    return any(present)


def writebyte(pin, value):
    for thing in things.on_line(pin.name):
        thing.write_byte(value)


def readbyte(pin):
    # Whoever sends a 0 wins
    value = 0xFF
    for thing in things.on_line(pin.name):
        value &= thing.read_byte()
    return value


def writebit(pin, value):
    for thing in things.on_line(pin.name):
        thing.write_bit(value)


def readbit(pin):
    value = 1
    for thing in things.on_line(pin.name):
        value &= thing.read_bit()
    return value


def crc8(data):
    crc = 0
    for byte in data:
        for bit in range(8):
            mixed = (crc ^ byte >> bit) & 1
            crc >>= 1
            if mixed:
                crc ^= 0x8C
    return crc
