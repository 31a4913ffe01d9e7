"""Each board as MicroPython's stm32 port sees it: its memory, its file system, its light.

Flash is from ports/stm32/flashbdev.c and the linker scripts of MicroPython 1.28, erase and program
times are from ST's data sheets (F401, F411, F446, F405: x32 parallelism; H743: 256-bit words; WB55:
pages of 4 KB). Heaps of the F411 and the F401 were read on emulated boards; the others follow from
the RAM of the part, less what the F411's port takes of its own.
"""

from dataclasses import dataclass

BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class Times:
    """Time to erase each sector, and to write one block of 512 bytes."""

    erase_ms: tuple[float, ...]
    program_ms: float


@dataclass(frozen=True, slots=True)
class Part:
    """A board under MicroPython's stm32 port.

    Args:
        heap_bytes: what Python has.
        sectors_blocks: the file system's sectors, each in blocks of 512 bytes; one of them at a
            time is cached in RAM, erased as a whole and written as a whole.
        light: the pin of LED1, which MicroPython lights while the cache is dirty.
    """

    heap_bytes: int
    sectors_blocks: tuple[int, ...]
    typical: Times
    worst: Times
    light: str

    @property
    def blocks(self) -> int:
        """The blocks of its file system."""
        return sum(self.sectors_blocks)


# The fourth lies in a sector of 64 KB, of which a port with a cache of 16 KB uses that much
_SMALL_F4 = (32, 32, 32, 32)
_F4_TYPICAL = Times((250, 250, 250, 550), 2.0)
_F4_WORST = Times((500, 500, 500, 1_100), 12.8)

PARTS = {
    "nucleo_f401re": Part(61_850, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "nucleo_f411re": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "nucleo_f446re": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "weact_blackpill_f411": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PC13"),
    "pyboard_v11": Part(102_400, (32, 32, 32, 128), _F4_TYPICAL, _F4_WORST, "PA13"),
    "nucleo_h743zi": Part(450_000, (256,), Times((1_000,), 1.6), Times((2_000,), 3.2), "PB0"),
    "nucleo_wb55": Part(150_000, (8,) * 64, Times((22,) * 64, 5.2), Times((25,) * 64, 5.8), "PB5"),
}
