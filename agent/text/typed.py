"""Commands as they are typed on any keyboard.

Keyboards of Chinese, Japanese and Korean write a wide slash, and in their wide mode wide letters.
"""

import unicodedata

# What people end a sentence with, also where it is a command
SIGNS = " .,;:!?\N{HORIZONTAL ELLIPSIS}。、，！？"
_WIDE_SLASH = "\N{FULLWIDTH SOLIDUS}"


def as_typed(text: str) -> str:
    """Return what begins with a wide slash in narrow signs; any other text as it is."""
    is_wide = text.lstrip().startswith(_WIDE_SLASH)
    return unicodedata.normalize("NFKC", text) if is_wide else text
