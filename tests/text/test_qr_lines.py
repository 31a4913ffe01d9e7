import segno

from agent.text.qr_lines import qr_lines

TEXT = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"
COLOURED, PLAIN = "\x1b[97;40m", "\x1b[0m"


def test_the_code_in_the_terminal_is_the_one_of_the_text() -> None:
    # Of a half line, what is above and what is below; light is drawn, dark is left out
    above, below = "█▀", "█▄"
    rows = []
    for line in qr_lines(TEXT):
        drawn = line.removeprefix(COLOURED).removesuffix(PLAIN)
        assert line == f"{COLOURED}{drawn}{PLAIN}"
        rows.append([char not in above for char in drawn])
        rows.append([char not in below for char in drawn])
    expected = segno.make_qr(TEXT, error="l")
    wanted = [[bool(dark) for dark in row] for row in expected.matrix_iter(border=2)]
    assert rows[: len(wanted)] == wanted
