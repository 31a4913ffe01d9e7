"""QR codes for terminals: half a line for each row, white on black whatever the colours are."""

import io

# Cameras read no inverted code
_CODE = "\x1b[97;40m"
_PLAIN = "\x1b[0m"
# Rows of white around it: a screen of text has few to give
_MARGIN = 2


def qr_lines(text: str) -> list[str]:
    """Return the lines; what is filled is white."""
    import segno  # noqa: PLC0415 - for the few moments in which a code is shown

    out = io.StringIO()
    segno.make_qr(text, error="l").terminal(out=out, border=_MARGIN, compact=True)
    return [f"{_CODE}{line}{_PLAIN}" for line in out.getvalue().rstrip("\n").split("\n")]
