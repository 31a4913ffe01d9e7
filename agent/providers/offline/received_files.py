"""Files that the person sent: told from their words, and read when "read it" or "page 2" is said.

A message is about a file only if every word of it is; "read the temperature" is not.
"""

import re
from collections.abc import Sequence

from agent.providers.offline.conversation import ConversationTurn
from agent.providers.offline.plan import CallStep, Order, SayStep, Step
from agent.providers.offline.toolbox import Toolbox

FILE_READ = "file_read"
# Longer text is about something else besides
_MAX_CHARS = 100

_NUMBERS = (
    ("first", "erste", "ersten", "première", "premiere", "primera", "prima", "eerste", "primeira"),
    ("second", "zweite", "zweiten", "deuxième", "seconde", "segunda", "seconda", "tweede"),
    ("third", "dritte", "dritten", "troisième", "tercera", "terza", "derde", "terceira"),
    ("fourth", "vierte", "vierten", "quatrième", "quatrieme", "cuarta", "quarta", "vierde"),
    ("fifth", "fünfte", "fünften", "cinquième", "cinquieme", "quinta", "vijfde"),
)
_ORDINALS = {word: number for number, words in enumerate(_NUMBERS, start=1) for word in words}
_NEXT = ("next", "nächste", "nächsten", "suivante", "siguiente", "prossima", "successiva")
_FOLLOWING = frozenset({*_NEXT, "volgende", "próxima", "proxima", "seguinte"})
_PAGE = frozenset({"page", "seite", "página", "pagina", "side", "p"})
_READ = frozenset(
    {
        *("read", "open", "show", "lies", "lese", "vorlesen", "vor", "zeig", "zeige", "öffne"),
        *("lis", "lire", "lis-le", "lis-la", "montre", "ouvre", "lee", "léelo", "leelo", "leer"),
        *("muestra", "abre", "leggi", "leggilo", "mostra", "apri", "lees", "toon", "lê", "leia"),
    }
)
_SAYS = frozenset(
    {
        *("say", "says", "inside", "steht", "drin", "sagt", "dit", "dedans", "dice", "pone"),
        *("dentro", "scritto", "staat", "zegt", "erin", "diz", "contains", "contain"),
    }
)
# These say it only of a thing: "what is on?" asks for what is switched on
_INSIDE = frozenset({"in", "on"})
_THING = frozenset({"it", "this", "that", "file", "document", "pdf", "letter", "text", "datei"})
_WHAT = frozenset({"what", "what's", "was", "que", "qué", "qu'est-ce", "quoi", "cosa", "wat", "o"})
_AROUND = frozenset(
    {
        *("please", "the", "a", "it", "this", "that", "me", "to", "for", "of", "is", "does", "do"),
        *("out", "aloud", "now", "and", "file", "document", "pdf", "letter", "text", "table"),
        *("picture", "recording", "my", "there", "can", "you", "could"),
        *("bitte", "es", "das", "die", "der", "den", "dem", "mir", "auf", "ist", "datei", "und"),
        *("dokument", "brief", "diese", "dieses", "s'il", "te", "plaît", "le", "la", "les", "moi"),
        *("fichier", "ce", "cette", "dans", "sur", "est", "qu'il", "y", "il", "qui", "il-y-a"),
        *("por", "favor", "lo", "el", "esto", "archivo", "fichero", "documento", "en", "hay"),
        *("per", "favore", "il", "questo", "nel", "nella", "sulla", "c'è", "che", "è", "di"),
        *("alsjeblieft", "het", "dit", "bestand", "er", "op", "isto", "o", "ficheiro", "arquivo"),
        *("na", "no", "está", "da", "do", "mi", "lo", "de", "det"),
    }
)
_HAN = re.compile(
    r"第([0-9一二三四五六七八九十]{1,4})[页頁]|([0-9]{1,4})\s*(?:ページ|頁|쪽|페이지)"
)
_HAN_NEXT = re.compile(r"下一[页頁]|次のページ|다음\s*(?:쪽|페이지)")
_HAN_READ = re.compile(r"读|讀|念|打开|打開|看|読|開|읽|열어|写|寫|说|說|書|有什么|뭐")
_HAN_AROUND = re.compile(
    r"[请請帮幫我给給把它这這那个個份文件档檔案的里裡面上是有什么麼内容內说說写寫了着著读讀念看打开開一下出来來听聽吗嗎呢在讲講]|"
    r"[をのにはがでてよむ読んだ書何いてあるますかなさいくだ見せこれそれ目開ファイル]|"
    r"[읽어줘주세요이그것을를은는파일에뭐가있써나내용도]|[\s?？。、，,.!！]"
)
_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", start=1)}


def about_file(turns: Sequence[ConversationTurn], box: Toolbox) -> Step | None:
    """Return the step of a message about a file that was sent; None if it is about no file."""
    turn = turns[-1]
    if not turn.text and turn.files:
        names = ", ".join(place.rpartition("/")[2] for place in turn.files)
        return SayStep("file_kept", {"name": names})
    known = [place for one in turns for place in one.files]
    if not known or box.find(FILE_READ) is None or len(turn.text) > _MAX_CHARS:
        return None
    said, place = _named(turn.text.casefold(), known)
    page = _page(said)
    if page is None:
        return None
    if page == 0:
        page = _last_page(turns, place) + 1
    return CallStep((Order(FILE_READ, {"path": place, "page": page}),))


def _named(said: str, known: Sequence[str]) -> tuple[str, str]:
    """Return the words without the name of a file, and the file that is meant."""
    for place in reversed(known):
        name = place.rpartition("/")[2].casefold()
        if name in said:
            return said.replace(name, " file "), place
    return said, known[-1]


def _page(said: str) -> int | None:
    """Return the page that is asked for, 0 for the next one; None if it is another message."""
    if re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", said):
        return _page_in_han(said)
    words = re.findall(r"[\w'’-]+", said.replace("’", "'").replace("what's", "what is"))
    numbers = [_number(word) for word in words]
    pages = [one for one in numbers if one is not None]
    is_page = bool(_PAGE.intersection(words))
    rest = {word for word, number in zip(words, numbers, strict=True) if number is None}
    rest -= _PAGE | _FOLLOWING
    if (
        not rest <= _AROUND | _READ | _SAYS | _INSIDE | _WHAT
        or len(pages) > 1
        or (pages and not is_page)
    ):
        return None
    if _FOLLOWING.intersection(words):
        return 0 if is_page else None
    if is_page:
        return pages[0] if pages and pages[0] > 0 else None
    is_asked = bool(_WHAT & rest) and bool(_SAYS & rest or (_INSIDE & rest and _THING & rest))
    return 1 if is_asked or _READ & rest else None


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit() and len(word) < 5:  # noqa: PLR2004 - no file has more pages
        return int(word)
    counted = re.fullmatch(r"([0-9]{1,4})(?:st|nd|rd|th|e|ème|ª|a)", word)
    return int(counted[1]) if counted else _ORDINALS.get(word)


def _page_in_han(said: str) -> int | None:
    found, following = _HAN.search(said), _HAN_NEXT.search(said)
    rest = _HAN_NEXT.sub("", _HAN.sub("", said))
    if _HAN_AROUND.sub("", rest):
        return None
    if following:
        return 0
    if found:
        return _han_number(found[1] or found[2])
    return 1 if _HAN_READ.search(rest) else None


def _han_number(digits: str) -> int | None:
    if digits.isdigit() and digits.isascii():
        return int(digits) or None
    tens, is_ten, ones = digits.rpartition("十")
    ten = _DIGITS.get(tens, 1) * 10 if is_ten else 0
    return ten + _DIGITS.get(ones, 0) or None


def _last_page(turns: Sequence[ConversationTurn], place: str) -> int:
    """Return the page of the file that was read last; 0 if none was."""
    for turn in reversed(turns[:-1]):
        for one in reversed(turn.exchanges):
            if one.order.tool == FILE_READ and one.order.arguments.get("path") == place:
                page = one.order.arguments.get("page", 1)
                return page if isinstance(page, int) else 1
    return 0
