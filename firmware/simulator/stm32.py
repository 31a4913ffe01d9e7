# The surroundings that MicroPython's stm32 port gives to Python: the flash of the part mounted at
# /flash as FAT, which is the working directory and on the path, nothing at / itself, and as much
# memory as the part has. The host's files move to /host.

import gc
import os
import sys

import flash
import installing
import machine
import pyb
import vfs
import world
from registers import FlashAddresses, Registers

HOST = "/host"
# What the world itself takes and gives back while the firmware runs
_WORLD_BYTES = 12_288


def enter(path, part, installed):
    # `installed` is the folder of the host whose files somebody has put onto a new board
    world.record_every_pin()
    made = flash.Flash(path, part, lambda value: world.light(part["light"], value))
    world.on_pass(made.look)
    if made.is_new:
        installing.lay_out(made, part)
    pyb.Flash = lambda **_where: made
    if part["flash_kb"]:
        registers = Registers(path, part["flash_kb"], machine.mem32, int(max(part["erase_ms"])))
        machine.mem32 = machine.mem16 = registers
        sys.modules["uctypes"] = FlashAddresses(registers)
    vfs.umount("/")
    vfs.mount(vfs.VfsPosix("/"), HOST)
    vfs.mount(made, "/flash")
    host_path = [HOST + at for at in sys.path if at.startswith("/")]
    sys.path[:] = ["", ".frozen", "/flash", "/flash/lib"] + host_path  # noqa: RUF005  - as on a board
    os.chdir("/flash")
    sys.argv[5:7] = [HOST + name for name in sys.argv[5:7]]
    if made.is_new:
        installing.install(HOST + installed)
    return made


def limit_memory(heap_bytes):
    # What is free beyond that is taken away, for as long as the result is held
    gc.collect()
    return bytearray(max(0, gc.mem_free() - heap_bytes - _WORLD_BYTES))
