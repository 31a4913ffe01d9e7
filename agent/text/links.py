"""Text that no program takes for a link: what would be one is shown as `evil[.]com`.

An address carries out what stands in it: when it is tapped, and on many platforms by the preview
that is fetched at once. No list of domains is asked, because such lists grow: whatever could be
an address is shown with its dots, colons and signs in brackets, in code as well.
"""

import re

# Characters that nobody sees: programs leave some of them out before they look for links
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
# No control character: what leaves it out puts the words beside it together
_SPACE = r"\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# They have no capitals: said so, patterns of any case are compiled in half the time
_GAP = f"(?-i:[{_UNSEEN}\u0300-\u036f\u20d0-\u20f0]*)"
# Browsers take the others for the first
_DOT = "[.\u2024\u3002\ufe52\uff0e\uff61]"
# A letter that can begin the name behind the last dot, or be in it
_LETTER = r"[^\W\d_]"
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
# Before anything at all, and inside of a word: programs know these schemes by name
_KNOWN = (
    "bitcoin callto facetime geo irc magnet mailto matrix sip sips skype sms spotify tel tg xmpp"
)
_SCHEMES = "|".join(_GAP.join(scheme) for scheme in _KNOWN.split())
_COLON = re.compile(
    # Before two slashes, whatever the scheme
    rf"[:\uff1a](?={_GAP}[/\uff0f]{_GAP}[/\uff0f])"
    rf"|(?:{_SCHEMES}){_GAP}[:\uff1a](?=[^{_SPACE}])"
    # After marks that make an address of what is behind them
    rf"|(?<=\]\()<?(?:[A-Z]{_GAP})+[:\uff1a]"
    rf"|<[A-Z](?:{_GAP}[A-Z0-9+.\-])+{_GAP}[:\uff1a](?=[^{_SPACE}])"
    # After a scheme, before anything that an address can begin with
    rf"|(?<![A-Z0-9])[A-Z](?:{_GAP}[A-Z0-9+.\-]){{1,30}}{_GAP}[:\uff1a]"
    rf"(?={_GAP}[^\s{_UNSEEN}*_`\"')\]}}>,.;|:!\[({{<\\])",
    re.IGNORECASE,
)
_NUMBERS = re.compile(rf"(?<!\d)\d{{1,3}}(?:{_GAP}{_DOT}{_GAP}\d{{1,3}}){{3}}(?!\d)")
# Not after the end of a sentence: `(see notes).Next`, `Well...maybe`
_NAME = re.compile(
    rf"(?<=[^\s\[\]().,:;!?])(?P<dot>{_DOT})"
    rf"(?=(?P<right>{_GAP}(?:{_LETTER}{_GAP}){{1,64}})(?P<after>.?))",
    re.DOTALL,
)
# After two slashes any word is a domain, also an unseen one: no list is asked there
_HOST = re.compile(rf"[/\uff0f]{_GAP}[/\uff0f][^\s/\uff0f]+")
_ANY_NAME = re.compile(rf"{_DOT}(?=[^\s!\"#%&'()*,\-./:;?@\[\\\]_{{}}<>])")
# Also inside of a word: one program begins an address there
_WWW = re.compile(rf"(www\d{{0,3}}{_GAP})({_DOT})(?=[^{_SPACE}])", re.IGNORECASE)
_AT = re.compile(rf"[@\uff20](?={_GAP}[\w\-])")
_SIGN_BEFORE_PARENTHESIS = re.compile(rf"\[({_DOT}|[:@\uff20])\](\(+)")
_HIDDEN = re.compile(f"[{_UNSEEN}\u0300-\u036f\u20d0-\u20f0]")
# An address may stand on the line below the marks that make it one
_WORD = re.compile(rf"(?P<gap>(?<=\]\()[{_SPACE}]+)?(?P<word>[^{_SPACE}]+)")
# A link of Markdown, and the address of one at the beginning of a line, also in a list or a quote
_TIE = re.compile(r"(?<=\])(?P<sign>\()", re.MULTILINE)
_LABEL = re.compile(
    r"(?P<label>^(?:[ \t>*+\-\u2022]|\d{1,9}[.)])*\[(?:\\.|[^\[\]\\]){1,999}\])(?P<sign>:)",
    re.MULTILINE | re.DOTALL,
)
_ADDRESS_IS_NEXT = re.compile(r"\s*[^\s()]{0,999}?\[[^\s\w]{1,2}\]")
# What stands around an address in a sentence
_AROUND = "<>()[]{}\"'*_`.,;:!?"


def without_links(text: str, known: frozenset[str] = frozenset()) -> str:
    """Return the text without links; a word that is one of the `known` targets stays as it is."""
    return _WORD.sub(lambda found: _of_found(found, known), text)


def targets(said: str) -> frozenset[str]:
    """Return the addresses that somebody wrote, as `without_links` and `is_target` compare them."""
    words = (found["word"].strip(_AROUND) for found in _WORD.finditer(said))
    return frozenset(_bare(word) for word in words if without_links(word) != word)


def untied(text: str, *, is_code: bool = False) -> str:
    """Return text without Markdown's marks that tie words to an address.

    In code, where they mean something else, those before an address that `without_links` showed.
    """

    def shown(found: re.Match[str]) -> str:
        if is_code and _ADDRESS_IS_NEXT.match(text, found.end()) is None:
            return found[0]
        return f"{found[0][:-1]}[{found['sign']}]"

    text = _TIE.sub(shown, text)
    return _LABEL.sub(shown, text)


def is_target(address: str, known: frozenset[str]) -> bool:
    """Return whether it is exactly one of them: a letter more may carry something out."""
    return bool(address) and _bare(address) in known


def _bare(address: str) -> str:
    return re.sub(r"\Ahttps?://", "", address).removesuffix("/")


def _of_found(found: re.Match[str], known: frozenset[str]) -> str:
    if found["gap"] is None:
        return _of_word(found["word"], known)
    return found["gap"] + _of_word(f"]({found['word']}", known).removeprefix("](")


def _of_word(word: str, known: frozenset[str]) -> str:
    core = word.strip(_AROUND)
    if is_target(core, known):
        return word
    shown = _COLON.sub(lambda found: f"{found[0][:-1]}[:]", word)
    shown = _HOST.sub(lambda found: _ANY_NAME.sub(_bracketed, found[0]), shown)
    shown = _NUMBERS.sub(lambda found: re.sub(_DOT, _bracketed, found[0]), shown)
    shown = _WWW.sub(lambda found: f"{found[1]}[{found[2]}]", shown)
    shown = _NAME.sub(lambda found: _of_name(found, len(word)), shown)
    shown = _AT.sub(_bracketed, shown)
    # Else the brackets themselves would tie a word to an address
    return _SIGN_BEFORE_PARENTHESIS.sub(r"[\1\2]", shown)


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
        is_plain = found["dot"] == "\u3002" and not name[:1].isascii()
    return found[0] if is_plain else f"[{found['dot']}]"
