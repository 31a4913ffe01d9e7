"""Commands as they are typed on any keyboard.

Keyboards of Chinese, Japanese and Korean write a wide slash, and in their wide mode wide letters.
"""

import re
import unicodedata

# What people end a sentence with, also where it is a command
SIGNS = " .,;:!?\N{HORIZONTAL ELLIPSIS}。、，！？"
_STOP = "/stop"
_WIDE_SLASH = "\N{FULLWIDTH SOLIDUS}"


def as_typed(text: str) -> str:
    """Return what begins with a wide slash in narrow signs; any other text as it is."""
    is_wide = text.lstrip().startswith(_WIDE_SLASH)
    return unicodedata.normalize("NFKC", text) if is_wide else text


# What only asks for haste, or asks nicely: it names nothing that could be meant beside the turn
_HASTE = (
    *("please", "pls", "plz", "now", "right now", "right away", "immediately", "instantly", "asap"),
    *("at once", "quickly", "quick", "ok", "okay", "thanks", "thank you"),
    *("bitte", "jetzt", "sofort", "gleich", "schnell", "mal", "endlich", "danke"),
    *("por favor", "porfa", "ahora", "ahora mismo", "ya", "inmediatamente", "rápido", "gracias"),
    *("s'il te plaît", "s'il te plait", "s'il vous plaît", "s'il vous plait", "stp", "svp"),
    *("maintenant", "tout de suite", "immédiatement", "vite", "merci"),
    *("per favore", "per piacere", "adesso", "ora", "subito", "immediatamente", "grazie"),
    *("agora", "já", "ja", "imediatamente", "depressa", "obrigado", "obrigada"),
    *("alsjeblieft", "alstublieft", "aub", "ajb", "nu", "meteen", "direct", "onmiddellijk", "snel"),
    *(
        "请",
        "請",
        "马上",
        "馬上",
        "立刻",
        "立即",
        "现在",
        "現在",
        "快",
        "谢谢",
        "謝謝",
        "吧",
        "一下",
    ),
    *(
        "お願いします",
        "お願い",
        "おねがいします",
        "ください",
        "下さい",
        "今すぐ",
        "すぐに",
        "すぐ",
        "今",
        "早く",
    ),
    *("제발", "지금", "당장", "바로", "빨리", "주세요", "해주세요", "부탁해요", "부탁합니다"),
    *("пожалуйста", "сейчас", "сейчас же", "немедленно", "быстро", "спасибо"),
    *("будь ласка", "зараз", "негайно", "дякую", "proszę", "prosze", "teraz", "natychmiast"),
    *("prosím", "prosim", "teď", "ihned", "hned", "kérlek", "kérem", "most", "azonnal"),
    *(
        "lütfen",
        "şimdi",
        "hemen",
        "tack",
        "takk",
        "nå",
        "straks",
        "genast",
        "\N{PERSON WITH FOLDED HANDS}",
    ),
)
# Longer than the longest haste that anybody types
_MAX_HASTE_CHARS = 40


def is_stop(text: str) -> bool:
    """Return true for a `/stop`, also one that asks for haste in any language."""
    rest = _after_stop(text)
    if rest is None or len(rest) > _MAX_HASTE_CHARS:
        return False
    said = " ".join(re.split(rf"[{re.escape(SIGNS)}¡\s]+", rest)).strip()
    said = said.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    hasty = "|".join(map(re.escape, sorted(_HASTE, key=len, reverse=True)))
    return re.fullmatch(rf"(?:(?:{hasty}) ?)*", said) is not None


def begins_with_stop(text: str) -> bool:
    """Return true for a `/stop`, whatever is said after it."""
    return _after_stop(text) is not None


def _after_stop(text: str) -> str | None:
    """Return the words after a `/stop`; None where it is none."""
    said = as_typed(text).strip()
    rest = said[len(_STOP) :]
    is_word = not rest or rest[0].isspace() or rest[0] in SIGNS
    return rest if is_word and said[: len(_STOP)].lower() == _STOP else None
