"""Shapes of unknown keys: prefixes of services, and values beside a telling name.

Neither a name nor a long number alone makes a key: hashes, UUIDs and ids of boards are ordinary
text. Every search is linear: a run of characters is read once.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from agent.config import MASK

# A word of this length may be one; two thirds of a key's characters come from chance
_LEAST_CHARS = 6
_LONG_CHARS = 20
_MOST_CHARS = 512
# By these prefixes services mark what they give out; what follows has a digit, or was masked before
_PREFIXED = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
      sk- | sk_live_ | sk_test_ | rk_live_ | rk_test_ | whsec_ | gsk_ | xox[abeoprs]- | xapp- |
      gh[oprsu]_ | github_pat_ | glpat- | gldt- | pplx- | xai- | nvapi- | hf_ | npm_ | pypi- | r8_ |
      dop_v1_ | shp(?:at|ca|pa|ss)_ | ATATT | ntn_ | lin_api_ | dapi | syt_ | tskey- | key- |
      GOCSPX- | ya29\. | AGE-SECRET-KEY-1 | sq0[a-z]{3}- | EAAC | NRAK- | PMAK- | dckr_pat_ | glsa_
    )(?P<rest>[\w\-*.…]{6,})""",
    re.VERBOSE,
)
# Whole shapes, as each service makes them
_SHAPED = re.compile(
    r"""
      (?<![A-Za-z0-9_])(?: AKIA | ASIA | AROA | AIDA )[A-Z0-9]{16}(?![A-Za-z0-9])
    | (?<![A-Za-z0-9_])AIza[\w\-]{20,}
    | (?<![A-Za-z0-9_])SG\.[\w\-]{16,64}\.[\w\-]{16,64}
    | (?<![A-Za-z0-9_])(?: SK | AC )[0-9a-f]{32}(?![A-Za-z0-9])
    | (?<![A-Za-z0-9_])[0-9]{8,10}:AA[\w\-]{30,40}
    | (?<![\w\-.])(?: M[DTjz] | N[DTjz] | O[DT] )[\w\-]{22,26}\.[\w\-]{6}\.[\w\-]{27,40}
    | (?<=hooks\.slack\.com/services/)[\w/]{20,100}
    | (?<=/api/webhooks/)[0-9]{15,22}/[\w\-]{30,100}
    | (?<=://)[^\s/@:]{0,128}:[^\s/@]{1,128}(?=@)
    """,
    re.VERBOSE,
)
_WEB_TOKEN = re.compile(r"(?<![\w\-.])eyJ[\w\-]{8,4096}\.[\w\-]{8,8192}(?:\.[\w\-]{0,4096})?")
_AUTHORIZED = re.compile(
    r"(?i)(?<![A-Za-z])(?P<how>bearer|basic)(?P<gap>[ \t:]{1,3})(?P<value>[\w\-.~+/=]{6,})"
)
_NAMES = (
    "api[-_ ]?key|access[-_ ]?key(?:[-_ ]?id)?|secret[-_ ]?(?:access[-_ ]?)?key|account[-_ ]?key|"
    "client[-_ ]?secret|app[-_ ]?secret|signing[-_ ]?(?:secret|key)|webhook[-_ ]?secret|"
    "private[-_ ]?key|encryption[-_ ]?key|auth[-_ ]?key|service[-_ ]?key|"
    "pass(?:word|wd|phrase|code)|pwd|secret|credentials?|token|bearer|authorization"
)
_QUOTE = r"""(?:\\{0,3}["'`*]|&quot;|%22){0,3}"""
# What stands between a name and a value
_SIGN = r"[ \t]{0,4}(?:=>|:=|==?|:|>|%3[ad])"
_SAID = r"[ ](?:is|was|provided|to)\b:?"
_GAP = rf"""{_QUOTE}\]?\)?(?:{_SIGN}|["'],|{_SAID}|(?P<bare>[ ]))"""
_SCHEME = r"(?:(?:basic|bearer|token)[ ])?"
_VALUE = rf"""[^\s"'`<>&,;|(){{}}\[\]\\]{{{_LEAST_CHARS},{_MOST_CHARS}}}"""
# A name, what ends it, and what stands beside it
_NAMED = re.compile(
    rf"(?i)(?P<name>{_NAMES})(?![a-z0-9_])"
    rf"(?P<gap>{_GAP}{_QUOTE}\s{{0,8}}{_SCHEME}\(?\[?{_QUOTE})(?P<value>{_VALUE})"
)
# Names of what is no secret, though a token is what it is called
_HARMLESS = ("page", "next", "cursor", "sync", "continuation", "max", "stop", "first", "last")
_BEFORE_CHARS = 16
# Others begin with a bracket, and no value does
_PLACEHOLDERS = ("$", "env:", "/", "~/", "./", "file:", "http:", "https:")
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


class _Search(Struct, frozen=True):
    """A pattern, and the text stems around which it is tried.

    Args:
        stems: one of them is in every match.
        before: how far before a stem a match may begin, in characters.
        after: how far behind the beginning of a stem a match may end.
    """

    pattern: re.Pattern[str]
    stems: tuple[str, ...]
    before: int
    after: int
    is_cased: bool = True

    def sub(self, mask: Callable[[re.Match[str]], str], text: str) -> str:
        pieces: list[str] = []
        at = 0
        for begin, end in self._windows(text):
            for found in self.pattern.finditer(text, begin, end):
                pieces += text[at : found.start()], mask(found)
                at = found.end()
        return "".join([*pieces, text[at:]])

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield pieces of the text around stems, from the left, without overlap."""
        lowered = text if self.is_cased else text.lower()
        if len(lowered) != len(text):
            # Some letters are two in lower case, and then no place is what it was
            yield 0, len(text)
            return
        joined: list[tuple[int, int]] = []
        # Few texts have any: which ones is asked before where
        found = [stem for stem in self.stems if stem in lowered]
        for at in sorted(at for stem in found for at in _places(stem, lowered)):
            begin, end = max(0, at - self.before), at + self.after
            if joined and begin <= joined[-1][1]:
                begin, _ = joined.pop()
            joined.append((begin, end))
        yield from joined


def _places(stem: str, lowered: str) -> Iterator[int]:
    at = lowered.find(stem)
    while at >= 0:
        yield at
        at = lowered.find(stem, at + 1)


_PREFIX_STEMS = (
    *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "gsk_", "xox", "xapp-"),
    *("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "pplx-", "xai-"),
    *("nvapi-", "hf_", "npm_", "pypi-", "r8_", "dop_v1_", "shpat_", "shpca_", "shppa_", "shpss_"),
    *("ATATT", "ntn_", "lin_api_", "dapi", "syt_", "tskey-", "key-", "GOCSPX-", "ya29."),
    *("AGE-SECRET-KEY-1", "sq0", "EAAC", "NRAK-", "PMAK-", "dckr_pat_", "glsa_"),
)
_SHAPE_STEMS = (
    *("AKIA", "ASIA", "AROA", "AIDA", "AIza", "SG.", "SK", "AC", ":AA", "hooks.slack.com/"),
    *("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "/api/webhooks/", "://"),
)
_NAME_STEMS = ("key", "secret", "pass", "pwd", "credential", "token", "bearer", "authorization")
_LONGEST_NAME_CHARS = 24
_LONGEST_GAP_CHARS = 80


def without_keys(text: str) -> str:
    """Mask everything that looks like a key."""
    text = "".join(_without_pem(text))
    for search, mask in _SEARCHES:
        text = search.sub(mask, text)
    return _NAMED_SEARCH.sub(_named(text), text)


def _without_pem(text: str) -> Iterator[str]:
    at = 0
    while found := _PEM.search(text, at):
        yield text[at : found.start()]
        yield MASK
        end = _PEM_END.search(text, found.end())
        # Where the end is missing, all of the rest may be key
        at = end.end() if end else len(text)
    yield text[at:]


def _prefixed(found: re.Match[str]) -> str:
    """Mask a prefixed key; names such as `sk-learn-based` stay."""
    is_key = any(one.isdigit() or one in "*…" for one in found["rest"])
    return MASK if is_key else found[0]


def _authorized(found: re.Match[str]) -> str:
    value = found["value"]
    is_basic = found["how"].lower() == "basic"
    is_key = _is_pair(value) if is_basic else _looks_made(value)
    return f"{found['how']}{found['gap']}{MASK}" if is_key else found[0]


def _is_pair(value: str) -> bool:
    """Return true for Base64 of a name and a password."""
    try:
        bare = value.rstrip(".=")
        # Neither more nor less than is missing: Python 3.13 takes no other
        told = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in told


def _named(text: str) -> Callable[[re.Match[str]], str]:
    def mask(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()].lower()
        is_harmless = before.rstrip("-_ ").endswith(_HARMLESS)
        # Beside a name alone, as in `--token VALUE` or `password VALUE`, only after an option
        is_said = found["bare"] is None or "--" in before.split(" ")[-1]
        value = found["value"]
        if is_harmless or not is_said or value.startswith(_PLACEHOLDERS) or not _is_value(found):
            return found[0]
        kept = value[len(value.rstrip(".!?:")) :]
        return f"{found['name']}{found['gap']}{MASK}{kept}"

    return mask


def _is_value(found: re.Match[str]) -> bool:
    value = found["value"].rstrip(".!?:")
    if found["name"].lower().startswith("pass") or found["name"].lower() == "pwd":
        # People choose these
        return len(value) >= _LEAST_CHARS and not value.isalpha()
    return _looks_made(value)


def _looks_made(value: str) -> bool:
    """Return true for mixed letters and digits, or many letters of both cases."""
    has_digit = any(one.isdigit() for one in value)
    has_letter = any(one.isalpha() for one in value)
    if has_digit and has_letter:
        return len(value) >= _LEAST_CHARS
    is_mixed = value != value.lower() and value != value.upper()
    return len(value) >= _LONG_CHARS and (has_digit or is_mixed)


def _whole(_: re.Match[str]) -> str:
    return MASK


_SEARCHES: tuple[tuple[_Search, Callable[[re.Match[str]], str]], ...] = (
    (_Search(_PREFIXED, _PREFIX_STEMS, 0, 4096), _prefixed),
    (_Search(_SHAPED, _SHAPE_STEMS, 12, 400), _whole),
    (_Search(_WEB_TOKEN, ("eyJ",), 0, 17_000), _whole),
    (_Search(_AUTHORIZED, ("bearer", "basic"), 0, 4096, is_cased=False), _authorized),
)
_NAMED_SEARCH = _Search(
    _NAMED,
    _NAME_STEMS,
    _LONGEST_NAME_CHARS,
    _LONGEST_NAME_CHARS + _LONGEST_GAP_CHARS + _MOST_CHARS,
    is_cased=False,
)
