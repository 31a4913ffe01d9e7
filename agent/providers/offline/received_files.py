"""Files that the person sent: told from their words, and read when "read it" or "page 2" is said.

A message is about a file only if every word of it is; "read the temperature" is not.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from agent.providers.offline.conversation import ConversationTurn, Exchange, table_of
from agent.providers.offline.plan import CallStep, Order, SayStep, Step
from agent.providers.offline.toolbox import Toolbox
from agent.security.received import MINE, is_received

FILE_READ = "file_read"
FILE_LIST = "file_list"
# Pages by what was read before
_NEXT_PAGE, _PAGE_BEFORE = 0, -1
# Longer text is about something else besides
_MAX_CHARS = 100

_NUMBERS = (
    (
        *("first", "erste", "ersten", "première", "premiere", "primera", "prima", "eerste"),
        *("primeira", "one", "eins", "uno", "een", "um"),
    ),
    (
        *("second", "zweite", "zweiten", "deuxième", "seconde", "segunda", "seconda", "tweede"),
        *("two", "zwei", "deux", "dos", "due", "twee", "dois"),
    ),
    (
        *("third", "dritte", "dritten", "troisième", "tercera", "terza", "derde", "terceira"),
        *("three", "drei", "trois", "tres", "tre", "drie", "três"),
    ),
    (
        *("fourth", "vierte", "vierten", "quatrième", "quatrieme", "cuarta", "quarta", "vierde"),
        *("four", "vier", "quatre", "cuatro", "quattro", "quatro"),
    ),
    (
        *("fifth", "fünfte", "fünften", "cinquième", "cinquieme", "quinta", "vijfde"),
        *("five", "fünf", "cinq", "cinco", "cinque", "vijf"),
    ),
)
_ORDINALS = {word: number for number, words in enumerate(_NUMBERS, start=1) for word in words}
_NEXT = ("next", "nächste", "nächsten", "suivante", "siguiente", "prossima", "successiva")
_FOLLOWING = frozenset({*_NEXT, "volgende", "próxima", "proxima", "seguinte"})
_PREVIOUS = frozenset(
    {
        *("previous", "vorige", "vorigen", "vorherige", "vorherigen", "précédente", "precedente"),
        *("anterior",),
    }
)
# Said right after a page, they ask for the one that follows
_MORE = frozenset(
    {
        *("more", "continue", "go", "on", "further", "weiter", "mehr", "weiterlesen", "continuer"),
        *("suite", "encore", "más", "mas", "sigue", "continúa", "continua", "avanti", "ancora"),
        *("verder", "meer", "mais", "next", "nächste"),
    }
)
_HAN_MORE = re.compile(
    r"(继续|繼續|接着|接著|続き|続けて|계속)(读|讀|念|吧|を?読んで|해줘)?[。!！]?"
)
# Several files, and what makes them somebody's own
_FILES = frozenset(
    {
        *("files", "documents", "pictures", "attachments", "dateien", "dokumente", "bilder"),
        *("anhänge", "fichiers", "archivos", "ficheros", "documentos", "documenti", "allegati"),
        *("bestanden", "documenten", "ficheiros", "arquivos"),
    }
)
_OWN = frozenset(
    {
        *("my", "meine", "meinen", "mes", "mis", "miei", "mijn", "meus", "sent", "send", "gave"),
        *("geschickt", "gesendet", "geschickten", "envoyé", "envoyés", "enviado", "enviados"),
        *("mandado", "mandato", "mandati", "inviato", "inviati", "gestuurd", "enviei", "mandei"),
    }
)
_ASKED = frozenset(
    {
        *("list", "which", "all", "i", "i've", "have", "did", "you", "are", "give", "tell"),
        *("welche", "alle", "ich", "habe", "dir", "liste", "sind", "auflisten", "quels", "tous"),
        *("j'ai", "je", "t'ai", "t'ai-je", "sont", "qué", "cuáles", "todos", "he", "te", "lista"),
        *(
            "ai",
            "son",
            "quali",
            "ho",
            "ti",
            "tutti",
            "elenca",
            "sono",
            "i",
            "welke",
            "heb",
            "ik",
            "jou",
        ),
        *("zijn", "quais", "eu", "os", "muéstrame", "montre-moi", "los", "gli", "ce", "que"),
    }
)
_HAN_LIST = re.compile(
    r"(列出|显示|顯示|看看?|给我看)?我(给你|給你)?(的|[发發传傳送]了?过?的?)(哪些|什么|什麼|所有)?"
    r"(文件|檔案|文档)(有哪些|列表)?[?？。]?"
    r"|(私の|私が送った|送った)ファイル(の一覧)?(は|を見せて|を見せてください)?[?？。]?"
    r"|(내|제|내가 보낸|제가 보낸|보낸) ?파일( ?목록)?(을|은|이)? ?(보여줘|보여주세요|뭐야)?[?？.]?"
)
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
    r"|(첫|두|세|네|다섯)\s*번째\s*(?:쪽|페이지)"
)
_KOREAN = {word: number for number, word in enumerate(("첫", "두", "세", "네", "다섯"), start=1)}
_HAN_NEXT = re.compile(r"下一[页頁]|次のページ|다음\s*(?:쪽|페이지)")
_HAN_PREVIOUS = re.compile(r"上一[页頁]|前のページ|이전\s*(?:쪽|페이지)")
_HAN_READ = re.compile(r"读|讀|念|打开|打開|看|読|開|읽|열어|写|寫|说|說|書|有什么|뭐")
_HAN_AROUND = re.compile(
    r"[请請帮幫我给給把它这這那个個份文件档檔案的里裡面上是有什么麼内容內说說写寫了着著读讀念看打开開一下出来來听聽吗嗎呢在讲講]|"
    r"[をのにはがでてりよむ読んだ書何いてあるますかなさいくだ見せこれそれ目開ファイル]|"
    r"[읽어줘주세요이그것을를은는파일에뭐가있써나내용도]|[\s?？。、，,.!！]"
)
_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", start=1)}


def about_file(turns: Sequence[ConversationTurn], box: Toolbox) -> Step | None:
    """Return the step of a message about a file that was sent; None if it is about no file."""
    turn = turns[-1]
    if not turn.text.strip():
        return _without_words(turn)
    said = turn.text.casefold()
    if len(said) > _MAX_CHARS:
        return None
    if box.find(FILE_LIST) is not None and _asks_for_list(said):
        return CallStep((Order(FILE_LIST, {"path": MINE}),))
    known = [place for one in turns for place in _files_of(one)]
    if not known or box.find(FILE_READ) is None:
        return None
    place = _named(said, known)
    said = said.replace(_name(place), " file ") if place else said
    place = place or _last_file(turns)
    page = _NEXT_PAGE if _asks_for_more(said, turns) else _page(said)
    if page is None:
        return None
    if page <= 0:
        step = 1 if page == _NEXT_PAGE else -1
        page = max(1, _last_page(turns, place) + step)
    return CallStep((Order(FILE_READ, {"path": place, "page": page}),))


def _without_words(turn: ConversationTurn) -> SayStep:
    if not turn.files:
        # A sticker, a place, a forward: nothing that this provider could read
        return SayStep("only_words")
    return SayStep(
        "file_kept", {"name": ", ".join(place.rpartition("/")[2] for place in turn.files)}
    )


def _asks_for_list(said: str) -> bool:
    """Return true if all that is asked for is the list of the asker's own files."""
    if _HAN_LIST.fullmatch(said):
        return True
    words = set(_words(said))
    # In Italian several files are called like one
    several = _FILES | {"file"} if "miei" in words else _FILES
    rest = words - several - _OWN - _ASKED - _AROUND - _READ - _WHAT
    return not rest and bool(several & words) and bool(_OWN & words)


def _asks_for_more(said: str, turns: Sequence[ConversationTurn]) -> bool:
    """Return true for "more" or "go on" right after a page."""
    before = turns[-2].exchanges if len(turns) > 1 else ()
    if not any(one.order.tool == FILE_READ for one in before):
        return False
    words = set(_words(said))
    return bool(_HAN_MORE.fullmatch(said)) or bool(words & _MORE and not words - _MORE - _AROUND)


def _words(said: str) -> list[str]:
    plain = said.replace("’", "'").replace("what's", "what is")
    return re.findall(r"[\w'-]+", plain)


def _name(place: str) -> str:
    return place.rpartition("/")[2].casefold()


def _named(said: str, known: Sequence[str]) -> str:
    """Return the file whose name is said; empty if none is."""
    return next((place for place in reversed(known) if _name(place) in said), "")


def _last_file(turns: Sequence[ConversationTurn]) -> str:
    """Return the file that was sent or read last."""
    # What this turn has read already is what it asked for
    of_now = replace(turns[-1], exchanges=())
    return next(
        (found[-1] for one in (of_now, *reversed(turns[:-1])) if (found := _files_of(one))), ""
    )


def _files_of(turn: ConversationTurn) -> list[str]:
    """Return the files that were sent and read in a turn, in their order."""
    return [*turn.files, *filter(None, map(_path, turn.exchanges))]


def _path(exchange: Exchange) -> str:
    """Return the file that a call read; empty if it read none of those that were sent."""
    if exchange.order.tool != FILE_READ:
        return ""
    # A name alone was found in the asker's own folder
    path = table_of(exchange.result).get("path", exchange.order.arguments.get("path", ""))
    return path if isinstance(path, str) and is_received(path) else ""


def _page(said: str) -> int | None:
    """Return the page that is asked for, or the next or previous one; None if it is about none."""
    if re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", said):
        return _page_in_han(said)
    words = _words(said)
    numbers = [_number(word) for word in words]
    pages = [one for one in numbers if one is not None]
    is_page = bool(_PAGE.intersection(words))
    rest = {word for word, number in zip(words, numbers, strict=True) if number is None}
    rest -= _PAGE | _FOLLOWING | _PREVIOUS
    if (
        not rest <= _AROUND | _READ | _SAYS | _INSIDE | _WHAT
        or len(pages) > 1
        or (pages and not is_page)
    ):
        return None
    if not _FOLLOWING.isdisjoint(words):
        return _NEXT_PAGE if is_page else None
    if not _PREVIOUS.isdisjoint(words):
        return _PAGE_BEFORE if is_page else None
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
    before = _HAN_PREVIOUS.search(said)
    rest = _HAN_PREVIOUS.sub("", _HAN_NEXT.sub("", _HAN.sub("", said)))
    if _HAN_AROUND.sub("", rest):
        return None
    if before:
        return _PAGE_BEFORE
    if following:
        return _NEXT_PAGE
    if found:
        return _KOREAN.get(found[3]) or _han_number(found[1] or found[2])
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
            if _path(one) == place:
                page = one.order.arguments.get("page", 1)
                return page if isinstance(page, int) else 1
    return 0
