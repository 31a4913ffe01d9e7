import pytest

from agent.blank.carried import NotCarried, chosen_board
from agent.blank.dfu import BadDfu, Element, read_dfu
from tests.fakes.dfu_file import dfu_file

PIECES = (Element(0x08000000, b"table"), Element(0x08020000, b"program"))


def test_the_pieces_of_a_dfu_file_are_read() -> None:
    assert read_dfu(dfu_file(PIECES)) == PIECES


def damaged(content: bytes, at: int) -> bytes:
    return content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no DfuSe file"),
        (b":020000040800F2\n" * 4, "no DfuSe file"),
        (damaged(dfu_file(PIECES), 300), "checksum"),
        (dfu_file(PIECES)[:-5], "damaged"),
        (dfu_file(PIECES, vendor=0x1209), "vendor 1209"),
        (dfu_file(()), "nothing to write"),
    ],
)
def test_what_is_none_or_damaged_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(BadDfu, match=why):
        read_dfu(content)


def test_a_board_that_is_not_known_is_told_with_those_that_are() -> None:
    with pytest.raises(NotCarried, match="no firmware for a board named toaster"):
        chosen_board("toaster", ())
