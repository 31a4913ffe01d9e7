"""QR codes for pages: dark on white whatever the page's colours are, with the margin they need."""

import io

from markupsafe import Markup

# Scanners look for as many modules of white around a code
_MARGIN = 4
_DARK, _LIGHT = "#000", "#fff"


def qr_code(text: str, label: str) -> Markup:
    """Return the code as a picture inside the page; `label` is what a screen reader says."""
    import segno  # noqa: PLC0415 - for the one page that shows a code

    out = io.BytesIO()
    segno.make_qr(text, error="l").save(
        out,
        kind="svg",
        border=_MARGIN,
        dark=_DARK,
        light=_LIGHT,
        omitsize=True,
        xmldecl=False,
        svgns=False,
        svgclass="qr",
        lineclass=None,
        nl=False,
    )
    drawn = out.getvalue().decode().replace("<svg ", '<svg role="img" aria-label="{}" ', 1)
    return Markup(drawn).format(label)  # noqa: S704 - drawn of squares; the label is escaped
