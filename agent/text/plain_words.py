"""Words that mean yes or no by themselves, in the languages that people answer in."""

_YES = frozenset(
    {
        *("yes", "y", "yep", "yeah", "yes please", "ok", "okay", "sure", "go ahead", "do it"),
        *("ja", "ja bitte", "jawohl", "jo", "klar", "mach das", "ja graag", "doe maar"),
        *("oui", "d'accord", "d’accord", "vas-y", "sí", "si", "vale", "claro", "sì", "va bene"),
        *("sim", "tak", "ano", "áno", "igen", "da", "evet", "tamam", "да", "давай", "так"),
        *("好", "好的", "好吧", "是", "是的", "行", "可以", "同意", "对", "好啊", "嗯"),
        *("はい", "うん", "お願いします", "네", "예", "응", "👍", "👌", "✅"),
    }
)
_NO = frozenset(
    {
        *("no", "n", "nope", "no thanks", "don't", "don’t", "do not", "nein", "nein danke", "nee"),
        *("non", "não", "nie", "ne", "nem", "hayır", "нет", "не надо", "ні"),
        *("不", "不要", "不行", "不是", "不用", "不可以", "别", "いいえ", "いや", "だめ"),
        *("아니", "아니요", "아니오", "👎", "❌"),
    }
)
_AROUND = " \t\r\n.,!。！，、~\N{VARIATION SELECTOR-16}"
# The longest of them, with marks around it; nothing longer is looked at
_MAX_CHARS = 30


def plain_answer(text: str) -> bool | None:
    """Return true if the text is a yes by itself, false for a no, None for anything else."""
    if len(text) > _MAX_CHARS:
        return None
    word = " ".join(text.strip(_AROUND).casefold().split())
    if word in _YES:
        return True
    return False if word in _NO else None
