import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.email.auth_results import MAX_FIELD_CHARS, AuthMethodResult, parse_auth_results
from agent.channels.email.header_fields import UnclearHeader

_DEBIANS = Path("/usr/lib/python3/dist-packages/authres/__init__.py")
# As Gmail, Fastmail, Yahoo, GMX, rspamd, OpenDKIM, OpenDMARC and policyd-spf write them
SEEN = {
    "mx.google.com; dkim=pass header.i=@example.com header.s=s1 header.b=abcd/123; spf=pass "
    "(google.com: domain of anna+x=y@example.com designates 2a00:1450::1 as permitted sender) "
    "smtp.mailfrom=anna+x=y@example.com; dmarc=pass (p=NONE sp=NONE dis=NONE) "
    "header.from=example.com": ("dkim", "spf", "dmarc"),
    "mx6.messagingengine.com; x-csa=none; arc=none (no signatures found); dkim=pass (2048-bit rsa "
    "key sha256) header.d=example.com header.b=abcd header.a=rsa-sha256 x-bits=2048; dmarc=pass "
    "policy.published-domain-policy=none (p=none,d=none) header.from=example.com; iprev=pass "
    "smtp.remote-ip=192.0.2.1 (mail.example.com); x-tls=pass smtp.bits=256/256; x-vs=clean "
    "score=0 state=0": ("x-csa", "arc", "dkim", "dmarc", "iprev", "x-tls", "x-vs"),
    "atlas.yahoo.example; dkim=pass header.i=@example.com header.s=s1; spf=pass "
    "smtp.mailfrom=example.com; dmarc=pass(p=NONE) header.from=example.com;": (
        "dkim",
        "spf",
        "dmarc",
    ),
    'rspamd.example;\tdkim=pass header.d=example.com header.s=s1 header.b="ab+c=";\tspf=pass '
    "(rspamd.example: domain of a@example.com designates 192.0.2.1 as permitted sender) "
    "smtp.mailfrom=a@example.com": ("dkim", "spf"),
    "mx.example.org;\tdkim=pass (1024-bit key; unprotected) header.d=example.com "
    "header.i=@example.com header.a=rsa-sha256 header.s=s1 header.b=c4e63oNw;\tdkim-atps=neutral": (
        "dkim",
        "dkim-atps",
    ),
    'old.example 1; dkim/1=pass reason="1024-bit key; insecure" header.d=example.com': ("dkim",),
    "mx.example.org; none (no check was done)": (),
    "mx.example.org": (),
}


@pytest.mark.parametrize("value", SEEN)
def test_what_servers_write_is_read(value: str) -> None:
    found = parse_auth_results(value)
    assert found.server == value.partition(";")[0].split(maxsplit=1)[0]
    assert tuple(one.method for one in found.results) == SEEN[value]


def test_methods_results_and_names_are_lower_case_and_values_are_as_written() -> None:
    [found] = parse_auth_results("MX.Example; DMARC = Pass (a) Header.From = Example.COM").results
    assert found == AuthMethodResult("dmarc", "pass", {"header.from": "Example.COM"})
    assert parse_auth_results("MX.Example;none").server == "mx.example"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "; dmarc=pass",
        '"mx.example.org"; none',
        "mx.example.org 2; none",
        "mx.example.org 1 1; none",
        "mx.example.org none",
        "mx.example.org; none; dmarc",
        "mx.example.org; dmarc/2=pass",
        "mx.example.org; dmarc=",
        "mx.example.org; dmarc=pass header.from",
        "mx.example.org; dmarc=pass header.from=",
        "mx.example.org; dmarc=pass header.from=a header.from=b",
        'mx.example.org; dmarc=pass reason="a"header.from=b',
        'mx.example.org; spf=pass smtp.mailfrom="a b"@evil.example',
        'mx.example.org; spf=pass smtp.mailfrom=a"b"@evil.example',
        'mx.example.org; dmarc=pass reason="a\\"b"',
        'mx.example.org; dmarc=pass reason="a)"',
        'mx.example.org; dmarc=pass reason="a',
        'mx.example.org; spf=pass (of "a b"@evil.example)',
        "mx.example.org; spf=pass (a (b) c)",
        "mx.example.org; spf=pass (a\\)",
        "mx.example.org; spf=pass (a",
        "mx.example.org; spf=pass a)",
        "mx.example.org; spf=pass\rdmarc=pass",
        "mx.example.org; dmarc=pass header.from=exämple.org\u2028",
        "mx.example.org; x=" + "a" * MAX_FIELD_CHARS,
    ],
)
def test_what_does_not_fit_is_refused_as_a_whole(value: str) -> None:
    with pytest.raises(UnclearHeader):
        parse_auth_results(value)


@given(st.text(alphabet='ab.=;()"\\ /1@\t-', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_auth_results("mx.example; " + text)
    except UnclearHeader:
        return
    assert len(found.results) <= text.count("=")


@pytest.fixture(scope="module")
def authres() -> ModuleType:
    """The parser that Debian's policyd-spf comes with."""
    if not _DEBIANS.exists():
        pytest.skip("Debian's python3-authres is not installed")
    spec = importlib.util.spec_from_file_location("authres", _DEBIANS)
    assert spec
    assert spec.loader
    module = sys.modules["authres"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("value", [value for value in SEEN if "x-bits" not in value])
def test_another_parser_reads_the_same(authres: ModuleType, value: str) -> None:
    ours = parse_auth_results(value)
    text = value.rstrip(";") if ";" in value else f"{value}; none"
    theirs = authres.parse(f"Authentication-Results: {text}")
    assert theirs.authserv_id == ours.server
    assert [_plain(one) for one in theirs.results] == [
        (one.method, one.result, dict(one.properties)) for one in ours.results
    ]


def _plain(theirs: Any) -> tuple[str, str, dict[str, str]]:
    properties = {f"{one.type}.{one.name}": str(one.value) for one in theirs.properties}
    # It knows the reason as something else than a property
    return (
        theirs.method,
        theirs.result,
        properties | ({"reason": theirs.reason} if theirs.reason else {}),
    )
