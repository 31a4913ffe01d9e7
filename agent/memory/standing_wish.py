"""Standing wishes and rules: what a person wants remembered in every turn.

Surface signs of English, German, Spanish, French, Chinese, Japanese and Korean. A fact with
"always" in it is none: the sentence must ask for it, or tell the agent what it is always to do.
"""

import re

from agent.memory.base import HeardMessage
from agent.memory.telling import MAX_MESSAGE_CHARS, is_order, trusted
from agent.messages import Provenance

# A wish is a sentence; all of them share what every prompt has room for
MAX_CHARS = 200

# "Remember this always", whatever "this" is
_KEEP = (
    r"(?:always remember|never forget|remember (?:this|that|it)?,? ?(?:always|forever|for ever)"
    r"|merk(?:e)? dir (?:das |es )?(?:für )?immer|vergiss (?:das |es )?nie(?:mals)?"
    r"|denk immer daran|recuerda(?:lo)? siempre|recuerda siempre|nunca (?:lo )?olvides"
    r"|no (?:lo )?olvides nunca|souviens-toi (?:toujours|pour toujours)|n'oublie jamais"
    r"|retiens (?:toujours|pour toujours)|(?:永远|一直|始终)记住|永远(?:不要|别)忘"
    r"|(?:ずっと|いつも|必ず)覚えて(?:おいて|いて)?|絶対に忘れないで"
    r"|(?:항상|영원히|꼭) 기억해)"
)
_ASKED_FOR = re.compile(rf"^\W*(?:please |bitte |por favor,? |请)?{_KEEP}", re.IGNORECASE)
# Nothing but the request: it is about what was said before it
_BARE = re.compile(
    rf"\W*(?:please |bitte |por favor,? |请)?{_KEEP}"
    r"(?:\W|this|that|it|please|das|es|bitte|esto|eso|por favor|ça|cela|这个|这件事|这点|吧"
    r"|ください|これを?|줘|이것을?)*",
    re.IGNORECASE,
)
# What the agent is to do from now on, as an order in general
_IN_GENERAL = re.compile(
    r"^\W*(?:(?:please|bitte|por favor|s'il te plaît|请)[, ]*)?"
    r"(?:from now on\b|in (?:the )?future,? |always (?!the\b)\w|never \w|don't ever |do not ever "
    r"|ab (?:jetzt|sofort) |von jetzt an |künftig |in zukunft "
    r"|(?!ich|er|sie|es|wir|das|die|der)\w+e? (?:mich |mir |mit mir )?(?:immer|nie|niemals) "
    r"|de ahora en adelante|a partir de ahora"
    r"|(?:siempre|nunca) (?:me |nos )?"
    r"(?:responde|contesta|habla|usa|di|llama|enciend|apag|abr|cierr)"
    r"|à partir de maintenant|désormais|dorénavant|\w+(?:-moi)? toujours |ne \w+(?:-moi)? jamais "
    r"|从现在(?:起|开始)|(?:以后|今后|总是|永远)(?:请|都|别|不要|用|叫)"
    r"|(?:これから|今後)は?(?:ずっと)?|いつも.*(?:して|てください)"
    r"|(?:앞으로|지금부터|항상) .*(?:줘|세요|마라?)\W*\Z)",
    re.IGNORECASE,
)
# It tells of somebody else then: "from now on I live in Bergen"
_TELLS = re.compile(
    r"\b(?:i(?! want you| would like you|'d like you)|we|my|our|ich(?! möchte,? dass)|wir|yo|je"
    r"|nous)\b|\bj'|我(?!.{0,4}[你您])|(?:私|僕|俺)(?:は|たちは|の)",
    re.IGNORECASE,
)


def is_standing(heard: HeardMessage) -> bool:
    """Return true for a paired person's own wish for every turn to come."""
    text = heard.text.strip()
    is_own = trusted(heard) == heard.provenance >= Provenance.USER
    if not is_own or len(text) > MAX_CHARS or is_order(text) or text.endswith(("?", "？")):
        return False
    if _ASKED_FOR.search(text):
        return True
    return _IN_GENERAL.search(text) is not None and _TELLS.search(text) is None


def is_about_the_last(heard: HeardMessage) -> bool:
    """Return true if a message only asks to keep for ever what was said before it."""
    return (
        is_standing(heard) and _BARE.fullmatch(heard.text[:MAX_MESSAGE_CHARS].strip()) is not None
    )
