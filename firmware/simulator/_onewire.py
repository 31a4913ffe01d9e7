# Stands in for MicroPython's _onewire module: what its C functions do to a line.

import things


def reset(pin):
    thing = things.at(pin.name, "reset_line")
    return bool(thing and thing.reset_line())


def writebyte(pin, value):
    thing = things.at(pin.name, "write_byte")
    if thing:
        thing.write_byte(value)


def readbyte(pin):
    thing = things.at(pin.name, "read_byte")
    return thing.read_byte() if thing else 0xFF


def crc8(data):
    crc = 0
    for byte in data:
        for bit in range(8):
            mixed = (crc ^ byte >> bit) & 1
            crc >>= 1
            if mixed:
                crc ^= 0x8C
    return crc
