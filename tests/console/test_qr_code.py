"""QR codes of pages, read back from the lines that they are drawn with."""

import re

import segno

from agent.console.qr_code import qr_code

TEXT = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"
_STEP = re.compile(r"([Mmh])(-?[0-9.]+)(?:[ ,]?(-?[0-9.]+))?")


def modules_of(drawn: str) -> set[tuple[int, int]]:
    """Return the dark modules, by column and row from the upper left corner of the picture."""
    path = re.search(r'stroke="#000" d="([^"]+)"', drawn)
    assert path is not None
    dark, x, y = set(), 0.0, 0.0
    for kind, first, second in _STEP.findall(path[1]):
        if kind == "h":
            dark |= {(round(x) + at, int(y)) for at in range(int(first))}
            x += float(first)
        else:
            is_from_here = kind == "m"
            x = float(first) + (x if is_from_here else 0)
            y = float(second) + (y if is_from_here else 0)
    return dark


def test_the_code_is_dark_on_white_with_its_margin() -> None:
    drawn = str(qr_code(TEXT, "a code"))
    rows = list(segno.make_qr(TEXT, error="l").matrix_iter(border=4))
    wanted = {(x, y) for y, row in enumerate(rows) for x, dark in enumerate(row) if dark}
    assert modules_of(drawn) == wanted
    size = len(rows)
    assert f'viewBox="0 0 {size} {size}"' in drawn
    # All of the picture is white below it
    assert f'<path fill="#fff" d="M0 0h{size}v{size}h-{size}z"/>' in drawn


def test_the_code_has_a_name_and_no_text_of_its_own() -> None:
    drawn = str(qr_code(TEXT, 'a "code" <b>'))
    assert 'role="img" aria-label="a &#34;code&#34; &lt;b&gt;"' in drawn
    assert "sgnl" not in drawn
    assert "style=" not in drawn
