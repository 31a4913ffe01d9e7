"""How much memory the firmware takes, and that shrinking its files changes nothing else."""

import ast
import itertools

import pytest

from firmware.host import ram
from firmware.host.bundle import BundledFile, board_names, bundle
from firmware.host.image import UNCOMPILED
from firmware.host.shrink import shrunk
from tests.fakes.board_sim import unavailable_reason

MOMENTS = (ram.BOOT, ram.EVENTS, ram.PINS, ram.REFLEXES, ram.DRIVER, ram.UPDATE)


def measured(board: str, *, is_frozen: bool = False) -> ram.Measured:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    try:
        return ram.measure(board, is_frozen=is_frozen)
    except ram.NotMeasured as err:
        if "words of 64 bits" in str(err):
            pytest.skip(str(err))
        raise


@pytest.mark.parametrize("board", [name for name in board_names() if name not in UNCOMPILED])
def test_after_boot_the_firmware_takes_no_more_memory_than_the_bar(board: str) -> None:
    assert measured(board).firmware_bytes(ram.BOOT) < ram.BAR_BYTES


def test_what_is_not_used_takes_nothing_until_it_is() -> None:
    found = measured("nucleo_f411re")
    taken = [found.firmware_bytes(moment) for moment in MOMENTS]
    more = [after - before for before, after in itertools.pairwise(taken)]
    assert min(more) > 2_500, taken


def test_what_stays_lies_together_in_a_memory_as_small_as_the_board_s() -> None:
    found = measured("nucleo_f411re")
    # What a start leaves behind once lay all over it, with 13,000 bytes in the largest piece
    assert found.piece_bytes(ram.BOOT) > 37_000
    assert found.piece_bytes(ram.REFLEXES) > 20_000
    # And a sensor beside sixteen pins had no room at all
    assert found.piece_bytes(ram.DRIVER) > 0


def test_frozen_in_it_leaves_a_large_piece_beside_sixteen_pins_and_three_reflexes() -> None:
    files, frozen = measured("nucleo_f411re"), measured("nucleo_f411re", is_frozen=True)
    assert frozen.firmware_bytes(ram.BOOT) < files.firmware_bytes(ram.BOOT) - 15_000
    assert frozen.piece_bytes(ram.REFLEXES) > 36_000


def small(target: str, text: str) -> str:
    (made,) = shrunk([BundledFile(target, text.encode())])
    return made.content.decode()


def test_numbers_of_the_wire_format_stand_where_they_are_used() -> None:
    text = small("node/a.py", "import frame\nx = frame.METHOD_REFLEX, frame.BAUD_FORMAT\n")
    assert text == "x = (13, '<I')\n"


def test_names_that_others_know_stay() -> None:
    text = """
class Thing:
    def __init__(self, pin, value):
        self._pin = pin
        self.level = value

    def _look(self, _unused):
        return self._pin, self.other._theirs, getattr(self, "_asked"), self._asked

    def init(self, mode, value=0):
        self._asked = self._look(mode)
        other.init(value=value)
"""
    made = small("node/a.py", text)
    assert "_pin" not in made
    assert "_look" not in made
    assert "def init(self, a0, value=0)" in made
    assert made.count("_asked") == 3
    assert "_theirs" in made


def test_an_argument_keeps_its_meaning_in_a_function_inside() -> None:
    text = (
        "def outer(one, two):\n    def inner(three):\n        return one, three\n    return inner\n"
    )
    space: dict[str, object] = {}
    exec(small("node/a.py", text), space)
    outer = space["outer"]
    assert callable(outer)
    assert outer(1, 2)(3) == (1, 3)


def test_shrinking_leaves_every_public_name_of_the_firmware() -> None:
    files = bundle("simulated")
    for before, after in zip(files, shrunk(files), strict=True):
        assert before.target == after.target
        if before.target != "frame.py":
            assert public(before.content) == public(after.content), before.target


def public(content: bytes) -> list[str]:
    return [
        node.name
        for node in ast.walk(ast.parse(content))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]


def test_no_class_but_the_codec_s_shares_its_private_names_with_another_file() -> None:
    # Short names are told apart by file: a class of two files would have one name for two things
    for file in bundle("simulated"):
        bases = {
            ast.unparse(base)
            for node in ast.walk(ast.parse(file.content))
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        }
        expected = {"frame.Encoder", "frame.Decoder"} if file.target == "node/codec.py" else set()
        # MicroPython's own classes have no private names
        assert bases - {"Exception", "io.IOBase"} == expected, file.target


def test_what_is_caught_is_never_called_as_an_argument() -> None:
    # Arguments are renamed, what an `except` binds is not
    for file in bundle("simulated"):
        for function in ast.walk(ast.parse(file.content)):
            if isinstance(function, ast.FunctionDef):
                inside = list(ast.walk(function))
                caught = {node.name for node in inside if isinstance(node, ast.ExceptHandler)}
                arguments = {node.arg for node in inside if isinstance(node, ast.arg)}
                assert not caught & arguments, (file.target, function.name)
