"""Names that look the same: two people who cannot be told apart by eye are one name too many.

Letters of other scripts that are drawn as Latin ones, full-width forms, and what is not drawn at
all. It is coarse on purpose: who is taken for somebody else only gets a number behind the name.
"""

import re
import unicodedata

from agent.text.printable import is_drawn

# Each pair: letters as they are drawn in capitals and small, and the Latin ones drawn so
_DRAWN_ALIKE = (
    # Cyrillic
    ("АВЕЅІЈКМНОРСТУХԚԜԌѴҮӀЗ", "ABESlJKMHOPCTYXQWGVYl3"),
    ("аеѕіјкорсухһԁԛԝѵүӏѡҽ", "aesijkopcyxhdqwvylwe"),
    # Greek
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ", "ABEZHlKMNOPTYXCJ"),
    ("αγικνορυχϲςϳσωη", "ayikvopuxccjown"),
    # Coptic
    ("ⲀⲂⲤⲈⲎⲒⲔⲘⲚⲞⲢⲦⲨⲬ", "ABCEHlKMNOPTYX"),
    ("ⲁⲥⲉⲟⲣⲭ", "aceopx"),
    # Armenian
    ("ՕՏԼՍօսհոցզյգռքա", "OSLUouhngqjqnfw"),
    # Cherokee, Lisu and the syllables of Canada
    ("ᎪᏴᏟᎠᎬᏀᏳᎻᎫᏦᏞᎷᏢᏚᏕᎢᏙᎳᏔᏃᎡᏒᎩᏏᏂᎥ", "ABCDEGGHJKLMPSSTVWWZRRYbhi"),
    ("ᗅᗷᑕᗞᗪᖴᕼᒍᛕᒪᗰᑎᑭᖇᑌᐯ᙭", "ABCDDFHJKLMnPRUVX"),
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHlJKLMNOPRSTUVWXYZ"),
    # Latin of other languages and of phonetics, and small capitals
    ("ıɩɑɡɪʏʀɴʜʟʙᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱʋɣꞵ×", "iiagiyrnhlbacdejkmoptuvwzsuyBx"),
    # What a line and a ring are: the capital i, the small L and the digits
    ("I1|ǀ0", "llllo"),
    ("‐‑‒–—―−⁃˗", "---------"),
    ("’‘ʼʻʹ′`´＇", "'''''''''"),
    # Katakana that are drawn as Hiragana or as Chinese characters
    ("へべぺり口囗二八力夕卜工一ㅡ", "ヘベペリロロニハカタトエーー"),
)
_ALIKE = {
    ord(one): like
    for letters, drawn in _DRAWN_ALIKE
    for one, like in zip(letters, drawn, strict=True)
}
# Two letters that close up to one
_CLOSED_UP = (("rn", "m"), ("vv", "w"))
# What is left of accents and marks where no letter has them: easily overlooked
_LOOSE_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")


# Join emoji, and letters of scripts that put them after a mark; a letter has no use for them
_JOINS = re.compile("[\u200c\u200d\ufe0f]")
_JOINED = frozenset({"So", "Sk", "Mn", "Mc"})


def plain_name(raw: str) -> str:
    """Return a name without what is not drawn; empty where nothing is."""
    kept = ""
    for char in unicodedata.normalize("NFC", raw):
        joins = bool(kept and _JOINS.match(char)) and unicodedata.category(kept[-1]) in _JOINED
        kept += char if joins or is_drawn(char) else ""
    return " ".join(kept.split())


def folded(name: str) -> str:
    """Return a name in the one spelling for what people type: case, accents and spaces."""
    return " ".join(unicodedata.normalize("NFC", name.casefold()).split())


def looks(name: str) -> frozenset[str]:
    """Return how a name looks; two names that share something of it look the same."""
    drawn = unicodedata.normalize("NFKC", "".join(filter(is_drawn, name.translate(_ALIKE))))
    # An accent is on whatever letter it is drawn over
    letters = unicodedata.normalize("NFD", "".join(map(_digit, drawn))).translate(_ALIKE)
    plain = _LOOSE_MARKS.sub("", unicodedata.normalize("NFC", letters)).casefold()
    for two, one in _CLOSED_UP:
        plain = plain.replace(two, one)
    return frozenset(" ".join(text.split()) for text in (plain, folded(name)))


def _digit(char: str) -> str:
    """Return a digit of any script as the one that it counts as."""
    return str(unicodedata.decimal(char, char))
