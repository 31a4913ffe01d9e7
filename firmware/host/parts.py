"""Each board as MicroPython's stm32 port sees it: its memory, its file system, its light.

Flash is from ports/stm32/flashbdev.c and the linker scripts of MicroPython 1.28, erase and program
times are from ST's data sheets (F401, F411, F446, F405: x32 parallelism; H743: 256-bit words; WB55:
pages of 4 KB). Heaps of the F411 and the F401 were read on emulated boards; the others follow from
the RAM of the part, less what the F411's port takes of its own.
"""

from dataclasses import dataclass

from agent.blank.board_state import SlotPlace

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
        slots: the place of its versions, as scripts/flash finds it.
        flash_kb: the size that an STM32F4 says it has; 0 for others.
    """

    heap_bytes: int
    sectors_blocks: tuple[int, ...]
    typical: Times
    worst: Times
    light: str
    slots: SlotPlace = SlotPlace.WORDS
    flash_kb: int = 512

    @property
    def blocks(self) -> int:
        """The blocks of its file system."""
        return sum(self.sectors_blocks)

    @property
    def erased_blocks(self) -> tuple[int, ...]:
        """The blocks that an erase of each sector takes, of which the cache may hold less."""
        return (32, 32, 32, 128) if self.flash_kb else self.sectors_blocks

    @property
    def chip_blocks(self) -> int:
        """The blocks of its flash that are no code: on 1 MB with the last sector of 128 KB."""
        if not self.flash_kb:
            return self.blocks
        return sum(self.erased_blocks) + (256 if self.flash_kb == _WHOLE_KB else 0)

    def told(self, times: Times | None = None, *, is_frozen: bool = False) -> dict[str, object]:
        """Return what `firmware/simulator` wants to know of it.

        Args:
            times: of its flash; None for none at all.
            is_frozen: its firmware is a part of its MicroPython.
        """
        return {
            "heap_bytes": self.heap_bytes,
            "sectors": self.sectors_blocks,
            "erased_blocks": self.erased_blocks,
            "chip_blocks": self.chip_blocks,
            "flash_kb": self.flash_kb,
            "slots": self.slots.value,
            "light": self.light,
            "is_frozen": is_frozen,
            "erase_ms": times.erase_ms if times else [0] * len(self.sectors_blocks),
            "program_ms": times.program_ms if times else 0,
        }


_WHOLE_KB = 1_024
# The fourth lies in a sector of 64 KB, of which a port with a cache of 16 KB uses that much
_SMALL_F4 = (32, 32, 32, 32)
_F4_TYPICAL = Times((250, 250, 250, 550), 2.0)
_F4_WORST = Times((500, 500, 500, 1_100), 12.8)

PARTS = {
    "nucleo_f401re": Part(61_850, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "nucleo_f411re": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "nucleo_f446re": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PA5"),
    "weact_blackpill_f411": Part(92_288, _SMALL_F4, _F4_TYPICAL, _F4_WORST, "PC13"),
    "pyboard_v11": Part(
        *(102_400, (32, 32, 32, 128), _F4_TYPICAL, _F4_WORST, "PA13"), flash_kb=_WHOLE_KB
    ),
    "nucleo_h743zi": Part(
        *(450_000, (256,), Times((1_000,), 1.6), Times((2_000,), 3.2), "PB0"),
        *(SlotPlace.FILES, 0),
    ),
    "nucleo_wb55": Part(
        *(150_000, (8,) * 64, Times((22,) * 64, 5.2), Times((25,) * 64, 5.8), "PB5"),
        *(SlotPlace.BLOCKS, 0),
    ),
}
