"""What chat programs take for a link: the libraries that they use, and the rules of the others.

Each rule takes more for a link than the program does, never less. Bars, ends of addresses and what
is left out of a domain differ between versions; whether something begins a link does not.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from linkify_it import LinkifyIt
from linkify_it.tlds import TLDS

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = Path(__file__).parent / "linkifiers" / "find.mjs"
# Where scripts/test puts them
_LIBRARIES = _ROOT / ".barnacle" / "linkifiers" / "node_modules"
# The library has most of them in ASCII alone
_OTHERS = ("local", "onion", "ton", "рф", "中国", "中國", "भारत", "ไทย", "한국", "укр", "বাংলা")
_TLD = "|".join(sorted(map(re.escape, {*TLDS, *_OTHERS}), key=len, reverse=True))
# What stands before is the program's business: a letter, a number or a sign is enough
_DOMAIN = rf"[^\s\[\]().,:;!?]\.(?:{_TLD}|xn--[a-z0-9\-]+)(?![^\W\d_])"
_IPV4 = r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d)"
_ANY_SCHEME = r"[A-Za-z0-9+.\-]://\S"
_EMAIL = r"[\w+%\-]@[\w\-]+\.\w"
RULES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        # tdlib, td/telegram/MessageEntity.cpp: find_urls, find_tg_urls, find_mentions
        "telegram": rf"{_ANY_SCHEME}|{_DOMAIN}|{_IPV4}|{_EMAIL}|(?<!\w)@[a-z0-9_]{{2,}}",
        # Discord's simple-markdown rules: autolinks, addresses with a scheme, masked links
        "discord": rf"{_ANY_SCHEME}|<[a-z][a-z0-9+.\-]+:\S+>|\]\(\s*<?[a-z]+:|@everyone|@here",
        # Slack, "Formatting text for app surfaces": what the server links by itself
        "slack": rf"{_ANY_SCHEME}|(?:mailto|tel|skype|callto|spotify):\S|{_DOMAIN}|{_EMAIL}",
        # Mattermost, its fork of marked: rules `url`, `autolink` and `email`
        "mattermost": rf"{_ANY_SCHEME}|www\d{{0,3}}\.\S|(?:mailto|tel|skype|sip):\S|{_EMAIL}"
        r"|(?<!\w)@[a-z]",
        # android.util.Patterns, AUTOLINK_WEB_URL and AUTOLINK_EMAIL_ADDRESS; WhatsApp,
        # Conversations and others on Android
        "android": rf"(?:https?|rtsp|ftp)://\S|{_DOMAIN}|{_IPV4}|{_EMAIL}",
        # NSDataDetector: iMessage and most on iOS
        "apple": rf"{_ANY_SCHEME}|{_DOMAIN}|{_IPV4}|{_EMAIL}|(?:mailto|tel|sms|facetime):\S",
        # HexChat (src/common/url.c), WeeChat's url scripts, Gajim and Dino for XMPP
        "irc": rf"{_ANY_SCHEME}|www\.\S|{_EMAIL}|{_DOMAIN}"
        r"|(?:mailto|xmpp|magnet|geo|sip|tel|irc|bitcoin):\S",
    }.items()
}


def absence() -> str:
    """Return why the programs cannot be asked here; empty where they can."""
    if shutil.which("node") is None:
        return "there is no node, which runs them: install Debian's package nodejs"
    if not _LIBRARIES.exists():
        return f"there is no {_LIBRARIES}: run scripts/test"
    return ""


def by_programs(texts: Sequence[str]) -> list[dict[str, list[str]]]:
    """Return what linkifyjs (Element), linkify-it (Signal) and marked find in each text."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LIBRARIES": f"{_LIBRARIES}/x.js"}
    done = subprocess.run(
        ["node", str(_PROGRAM)],
        input=json.dumps(list(texts)),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        env=environ,
    )
    found: list[dict[str, list[str]]] = json.loads(done.stdout)
    return [{name: _leaving(links) for name, links in one.items()} for one in found]


def _leaving(links: Sequence[str]) -> list[str]:
    """Return those that lead away: not to the machine of whoever reads."""
    return [link for link in links if not re.match(r"(?:https?:)?(?://)?localhost\b", link)]


_PYTHONS = LinkifyIt().tlds(list(TLDS)).set({"fuzzy_ip": True})


def by_rules(text: str) -> dict[str, list[str]]:
    """Return what every rule, and linkify-it in Python, find in a text."""
    # Browsers and some programs know other full stops
    latin = re.sub(r"[\uff0e\uff61\u2024\ufe52]|\u3002(?=[A-Za-z])", ".", text)
    found = {name: [one[0] for one in rule.finditer(latin)] for name, rule in RULES.items()}
    return found | {"linkify-it-py": _leaving([one.raw for one in _PYTHONS.match(latin) or ()])}
