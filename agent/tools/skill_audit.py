"""What the text of a skill must not hold: it is read by a model that acts on what it reads.

No proof that a text is harmless, only a wall against what is known to be sent around. Whatever
passes is still only text that the owner has or has not approved.
"""

import re
import unicodedata

from agent.printable import spelled_out

# A line of base64 or hex as long as this is not for people to read
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{300,}")
# Of what was found: enough to recognise it
_SHOWN_CHARS = 60
# Formatting that is needed: it joins emoji and letters of some scripts
_JOINERS = frozenset("\u200c\u200d")
_KEPT_SAFE = (
    r"(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|private keys?|seed phrases?|"
    r"(?:access|bot) tokens?|secret keys?|recovery codes?)"
)
_PIPED = "it pipes what it gets into a program"
_FORGET = (
    r"\b(?:ignore|disregard|forget|override)\b[^\n.]{0,40}\b(?:previous|prior|above|earlier|system|"
    r"safety)\b[^\n.]{0,30}\b(?:instruct|prompt|rule|order)"
)
_HIDE = (
    r"\b(?:do not|don'?t|never|without)\b[^\n.]{0,20}\b(?:tell|inform|show|mention|ask)\w*\b"
    r"[^\n.]{0,20}\b(?:user|owner|person|human)"
)
_SUSPICIOUS = (
    (
        _PIPED,
        r"(?:curl|wget|fetch)\b[^\n]{0,400}\|\s*(?:sudo\s+)?\S*(?:sh|python3?|perl|node|ruby)\b",
    ),
    (
        _PIPED,
        r"base64\s+(?:-d|--decode)[^\n]{0,200}\|\s*(?:sudo\s+)?\S*(?:sh|python3?|perl|node|ruby)\b",
    ),
    ("it runs a download", r"sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)"),
    ("it runs a download", r"\b(?:eval|source|iex)\b[^\n]{0,80}(?:curl|wget|iwr|downloadstring)"),
    ("it asks for credentials", rf"\b(?:send|give|tell|post|paste)\b[^\n.]{{0,60}}\b{_KEPT_SAFE}"),
    ("it asks for credentials", rf"\b(?:enter|share|upload|ask)\b[^\n.]{{0,60}}\b{_KEPT_SAFE}"),
    ("it reads where secrets are kept", r"/\.(?:ssh|aws|gnupg|netrc)\b|\bid_(?:rsa|ed25519)\b"),
    ("it reads where secrets are kept", r"/etc/shadow|/proc/\S*/environ|(?<![\w.])\.env\b"),
    ("it wants other orders forgotten", _FORGET),
    ("it wants something hidden from the person", _HIDE),
    ("it deletes or overwrites a disk", r"\brm\s+-[a-z]*[rf][a-z]*\s+[/~]|\bmkfs\b|\bdd\s+if="),
)
_PATTERNS = tuple((why, re.compile(pattern, re.IGNORECASE)) for why, pattern in _SUSPICIOUS)


def suspicion(text: str) -> str:
    """Why this text is refused; empty if nothing is known against it."""
    for char in text:
        if _is_hidden(char):
            return f"it holds {spelled_out(char)}, which cannot be seen"
    # Full-width letters and ligatures read like others to a model
    plain = unicodedata.normalize("NFKC", text)
    if blob := _BLOB.search(plain):
        return f"it holds a long text in code ({blob[0][:20]}...)"
    for why, pattern in _PATTERNS:
        # A line that goes on in the next one is one line to a shell
        if found := pattern.search(plain.replace("\\\n", " ")):
            return f"{why} ({spelled_out(found[0][:_SHOWN_CHARS])})"
    return ""


def _is_hidden(char: str) -> bool:
    if char in "\n\r\t" or char in _JOINERS:
        return False
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
