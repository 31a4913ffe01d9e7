"""Images of the firmware: what an update carries and what a slot holds (firmware/slots.py)."""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from agent.blank.board_state import SLOTS, SlotPlace
from firmware.host.board_source import is_small
from firmware.host.build_cache import cached
from firmware.host.bundle import FIRMWARE, BundledFile, board_file, build_number, bundle
from firmware.host.compiler import ARCHITECTURE, compiled, for_board
from firmware.host.parts import PARTS
from firmware.host.shrink import shrunk
from firmware.host.version import firmware_version

# Started by name, or needed to find the slots: these are beside the slots, never inside
OUTSIDE = ("boot.py", "main.py", "slots.py", "slots.mpy")
# The board needs a buffer of this size to unpack a file: a smaller one for what is loaded while
# memory is short, of which a larger one makes little less
WINDOW_BITS = 10
_SMALL_WINDOW_BITS = 9
_SMALL_BYTES = 4_096
# None is smaller: room is shorter than memory
_TIGHT_BYTES = 0
# The modules of a flash that is divided into sectors, of no use where the slots are files
_OF_SECTORS = ("node/kept_sectors.py", "node/kept_sectors.mpy")
_DRIVERS = "node/devices/"
_PLAIN_LEAST_BYTES = 1_000
# As firmware/slots.py has them
IMAGE_AT = 256
HEADER = "<32sII"
READY, CONFIRMED = 64, 192
# The simulated board runs on this computer, whose compiler need not be there
UNCOMPILED = ("simulated",)


def board_bundle(name: str) -> list[BundledFile]:
    """The files as that board runs them."""
    files = bundle(name)
    return cached("shrunk", files, shrunk) if name in UNCOMPILED else for_board(files)


def image(name: str) -> bytes:
    """The firmware of a board as one piece; the same files give the same bytes."""
    return image_of(name, board_bundle(name))


# Of the modules that know the place of the slots: what each is called on the board
_PLACES = {
    SlotPlace.FILES: {},
    SlotPlace.BLOCKS: {"raw_slots": "slots_in_blocks.py"},
    SlotPlace.WORDS: {"raw_slots": "slots_in_words.py", "flash_words": "flash_words.py"},
}


def slot_sources(place: SlotPlace) -> list[BundledFile]:
    """Return the modules that know that place, as they are imported on a board."""
    return [
        BundledFile(f"{target}.py", (FIRMWARE / source).read_bytes())
        for target, source in _PLACES[place].items()
    ]


def installed(name: str, place: SlotPlace | None = None) -> list[BundledFile]:
    """Return the files that `scripts/flash` copies: programs at the top, and slot a, confirmed.

    Args:
        name: the board.
        place: where its slots are; by default where a board of that name has them.
    """
    return installed_of(name, board_bundle(name), place=place)


def installed_of(
    name: str,
    files: list[BundledFile],
    architecture: str = ARCHITECTURE,
    place: SlotPlace | None = None,
) -> list[BundledFile]:
    """The same, of those files."""
    place = place or _usual_place(name)
    outside = [file for file in files if file.target in OUTSIDE]
    outside += [
        BundledFile(file.target.replace(".py", ".mpy"), compiled(file, architecture))
        for file in shrunk(slot_sources(place))
    ]
    content = image_of(name, files, place)
    head = bytearray(b"\xff" * IMAGE_AT)
    struct.pack_into(HEADER, head, 0, hashlib.sha256(content).digest(), len(content), 1)
    head[READY] = head[CONFIRMED] = 0
    return [*outside, BundledFile("slot_a", bytes(head) + content)]


def start_archive(name: str, files: list[BundledFile]) -> bytes:
    """Return what `barnacle board install` needs beside the image: start programs, slot's head."""
    machines = list(getattr(board_file(name), "MACHINES", ()))
    about = json.dumps({"machines": machines}, separators=(",", ":")).encode()
    outside = [file for file in files if file.target not in SLOTS]
    (slot,) = (file for file in files if file.target in SLOTS)
    head = BundledFile("slot_head", slot.content[:IMAGE_AT])
    return joined([BundledFile("about.json", about), head, *outside])


def in_slot(file: BundledFile, slot: str, number: int) -> BundledFile:
    """Return the same image for that slot; of two that can be started the higher number is."""
    content = bytearray(file.content)
    digest, length, _number = struct.unpack_from(HEADER, content)
    struct.pack_into(HEADER, content, 0, digest, length, number)
    return BundledFile(slot, bytes(content))


def _usual_place(name: str) -> SlotPlace:
    return PARTS[name].slots if name in PARTS else SlotPlace.FILES


def image_of(name: str, files: list[BundledFile], place: SlotPlace | None = None) -> bytes:
    """Return the same, of those files, for that place."""
    place = place or _usual_place(name)
    about = {
        "board": board_file(name).NAME,
        "build": build_number(bundle(name)[:-1]),
        "frozen_build": build_number(bundle(name, is_frozen=True)[:-1]),
        "version": list(firmware_version()),
    }
    text = json.dumps(about, separators=(",", ":"), sort_keys=True).encode()
    is_tight = place is SlotPlace.FILES
    outside = (*OUTSIDE, *(_OF_SECTORS if is_tight else ()))
    inside = [file for file in files if file.target not in outside]
    # A board that takes no update over the link has a program that reads these: drivers are loaded
    # when memory is shortest. Where the slots are files, room is shorter.
    has_plain = is_small(board_file(name)) and not is_tight and name not in UNCOMPILED
    plain = [file.target for file in inside if has_plain and _DRIVERS in file.target]
    packed = [BundledFile("about.json", text), *inside]
    return joined(packed, frozenset(plain), _TIGHT_BYTES if is_tight else _SMALL_BYTES)


def joined(
    files: Iterable[BundledFile],
    plain: AbstractSet[str] = frozenset(),
    small_bytes: int = _TIGHT_BYTES,
) -> bytes:
    """Return the files in one piece.

    Args:
        files: what is joined.
        plain: those that are not packed, if they have some size: a small one takes no memory to
            unpack.
        small_bytes: below it a file is packed for a smaller buffer.
    """
    entries = [
        (file.target.encode(), file.content)
        if file.target in plain and len(file.content) > _PLAIN_LEAST_BYTES
        else (file.target.encode(), _packed(file.content, small_bytes))
        for file in files
    ]
    index = struct.pack("<H", len(entries))
    for name, content in entries:
        index += struct.pack("<IB", len(content), len(name)) + name
    return index + b"".join(content for _name, content in entries)


def _packed(content: bytes, small_bytes: int) -> bytes:
    bits = _SMALL_WINDOW_BITS if len(content) < small_bytes else WINDOW_BITS
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packer.compress(content) + packer.flush()
