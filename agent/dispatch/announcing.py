"""Whether a text only announces a deed: "I will now turn on the pump", and then nothing is called.

Surface signs of six languages, and rather too few than too many: whoever is taken at their word
wrongly is asked once more and says it again.
"""

import re

# The announcement stands at the end; what was said before it does not matter
_LAST_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？…]*\s*\Z")
# A longer sentence tells something
_LONGEST_CHARS = 240

_EN_DEEDS = (
    r"turn|switch|set|read|check|look|measure|search|start|stop|open|close|write|create|save|store"
    r"|run|fetch|get|find|list|activate|enable|disable|toggle|scan|use|call|do"
)
_ANNOUNCEMENTS = re.compile(
    rf"\b(?:I will|I'll|I’ll|I am going to|I'm going to|let me)"
    rf"(?: (?:now|just|first|quickly|go ahead and|try to|take a))* (?:{_EN_DEEDS})\b"
    r"|\bI am (?:now |just )?(?:turning|switching|setting|reading|checking|measuring)\b"
    r"|\bich (?:werde|schalte|prüfe|lese|messe|suche|schaue|setze|starte|stelle|öffne|schreibe"
    r"|speichere|mache)\b.*\b(?:jetzt|nun|gleich|kurz|mal|sofort|zuerst)\b"
    r"|\b(?:voy a|déjame|permíteme|ahora mismo) (?:\w+ )?(?:encend|apag|le[ea]r|comprob|revis"
    r"|busc|med|ver|configur|activ|abr|cerr|escrib|guard)"
    r"|(?:我(?:现在|马上|这就|来|先)|让我)[^。]{0,8}(?:打开|关闭|读|检查|查看|测量|查|搜索|设置|启动"
    r"|停止|写|保存|开|关)"
    r"|(?:今から|これから|今すぐ|まず).*(?:します|ます|ましょう)[。!！]?\s*\Z"
    r"|(?:확인|측정|검색|설정|시작|중지|켜|끄|꺼|읽|찾)\S{0,4}\s?\S{0,3}(?:겠습니다|게요)",
    re.IGNORECASE,
)
# A question, a condition, an offer, or something for later
_NO_ANNOUNCEMENT = re.compile(
    r"[?？]|\b(?:if|when|whenever|once|unless|until|later|tomorrow|let me know"
    r"|wenn|falls|sobald|später|morgen|si|cuando|mañana|después)\b"
    r"|如果|要是|的话|时候|以后|明天|吗|たら|なら|場合|明日|あとで|으면|경우|내일|나중",
    re.IGNORECASE,
)

NUDGE = (
    "(You said what you are about to do, but called no tool. If the person asked for it, call the "
    "tool now; otherwise give your final answer.)"
)


def announces(text: str) -> bool:
    """Whether the text ends in something that is about to be done."""
    found = _LAST_SENTENCE.search(text.rstrip()[-2 * _LONGEST_CHARS :])
    if found is None or len(found.group()) > _LONGEST_CHARS:
        return False
    last = found.group()
    return bool(_ANNOUNCEMENTS.search(last)) and not _NO_ANNOUNCEMENT.search(last)
