"""Text that no program takes for a link: what would be one is shown as `evil[.]com`.

An address carries out what stands in it: when it is tapped, and on many platforms by the preview
that is fetched at once. No list of domains is asked, because such lists grow: whatever could be
an address is shown with its dots, colons and signs in brackets, in code as well.
"""

import re

# Characters that nobody sees: programs leave some of them out before they look for links
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_GAP = f"[{_UNSEEN}\u0300-\u036f\u20d0-\u20f0]*"
# Browsers take the others for the first
_DOT = "[.\u2024\u3002\ufe52\uff0e\uff61]"
# A letter that can begin the name behind the last dot, or be in it
_LETTER = r"[^\W\d_]"
_LEFT = rf"[^\s{_UNSEEN}\u0300-\u036f\u20d0-\u20f0\[\](){{}}<>\"'/\\.,;:!?@#%&*|\u3002\uff0e\uff61]"
# Names of files: no domain ends so, and none is going to
_FILE_NAMES = """
bak bat bin bmp cfg conf cpp css csv db dbc doc docx elf epub err fw gif gz hex hpp
htm html ico img ini ipynb jpeg jpg js json jsonl ko lock log mjs mpy ods odt onnx pdf
pem png ppt pptx pyc pyi rst sha sig sql sqlite svg tar tgz tmp toml ts tsv txt wav
webp whl xls xlsx xml yaml yml
"""
_FILES = frozenset(_FILE_NAMES.split())
# A longer word may be cut into two messages
_MAX_FILE_CHARS = 120
_COLON = re.compile(
    # Before two slashes, whatever the scheme
    rf"[:\uff1a](?={_GAP}[/\uff0f\\]{_GAP}[/\uff0f\\])"
    # After a scheme, before anything that an address can begin with
    rf"|(?<![A-Za-z0-9])(?P<scheme>[A-Za-z](?:{_GAP}[A-Za-z0-9+.\-]){{1,30}}{_GAP})[:\uff1a]"
    rf"(?={_GAP}[^\s{_UNSEEN}*_`\"')\]}}>,.;|:!\[({{<\\])"
)
_NUMBERS = re.compile(rf"(?<!\d)\d{{1,3}}(?:{_GAP}{_DOT}{_GAP}\d{{1,3}}){{3}}(?!\d)")
_NAME = re.compile(
    rf"(?P<left>{_LEFT}{_GAP})(?P<dot>{_DOT})"
    rf"(?=(?P<right>{_GAP}(?:{_LETTER}{_GAP}){{1,64}})(?P<after>.?))",
    re.DOTALL,
)
_WWW = re.compile(rf"(?<![^\W_])(www\d{{0,3}}{_GAP})({_DOT})(?={_GAP}\S)", re.IGNORECASE)
_AT = re.compile(rf"[@\uff20](?={_GAP}\w)")
_HIDDEN = re.compile(f"[{_UNSEEN}\u0300-\u036f\u20d0-\u20f0]")
_WORD = re.compile(r"\S+")
# What stands around an address in a sentence
_AROUND = "<>()[]{}\"'*_`.,;:!?"


def defanged(text: str, known: frozenset[str] = frozenset()) -> str:
    """Return the text without links; a word that is one of the `known` targets stays as it is."""
    return _WORD.sub(lambda found: _of_word(found[0], known), text)


def targets(said: str) -> frozenset[str]:
    """Return the addresses that somebody wrote, as `defanged` and `is_target` compare them."""
    words = (found[0].strip(_AROUND) for found in _WORD.finditer(said))
    return frozenset(_bare(word) for word in words if defanged(word) != word)


def is_target(address: str, known: frozenset[str]) -> bool:
    """Return whether it is exactly one of them: a letter more may carry something out."""
    return bool(address) and _bare(address) in known


def _bare(address: str) -> str:
    return re.sub(r"\Ahttps?://", "", address).removesuffix("/")


def _of_word(word: str, known: frozenset[str]) -> str:
    core = word.strip(_AROUND)
    if is_target(core, known):
        return word
    shown = _COLON.sub(lambda found: f"{found['scheme'] or ''}[:]", word)
    shown = _NUMBERS.sub(lambda found: re.sub(_DOT, _bracketed, found[0]), shown)
    shown = _WWW.sub(lambda found: f"{found[1]}[{found[2]}]", shown)
    shown = _NAME.sub(lambda found: _of_name(found, len(word)), shown)
    return _AT.sub(_bracketed, shown)


def _bracketed(found: re.Match[str]) -> str:
    return f"[{found[0]}]"


def _of_name(found: re.Match[str], word_chars: int) -> str:
    name = _HIDDEN.sub("", found["right"]).lower()
    after = found["after"]
    if name.isascii():
        is_file = name in _FILES and not (after.isalpha() or after in {"-", "_"})
        # No domain has one letter
        is_plain = len(name) == 1 or (is_file and word_chars <= _MAX_FILE_CHARS)
    else:
        # A full stop between two sentences: programs know it only before what is Latin
        is_plain = found["dot"] == "\u3002"
    return found[0] if is_plain else f"{found['left']}[{found['dot']}]"
