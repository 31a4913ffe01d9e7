import pytest

from agent.console.guards import (
    BURST,
    MAX_BODY_BYTES,
    MAX_CALLERS,
    SESSION_COOKIE,
    Pace,
    RequestHead,
    cookie,
    fault_of,
    is_own_host,
)

HOSTS = frozenset({"greenhouse", "greenhouse.local", "pi3.local", "greenhouse.example"})
TOKEN = "A" * 43


def head(method: str = "GET", **headers: str) -> RequestHead:
    named = {"host": "greenhouse.local", **{k.replace("_", "-"): v for k, v in headers.items()}}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
    return RequestHead(method, b"/", b"", pairs)


@pytest.mark.parametrize(
    "host",
    [
        *("greenhouse.local", "Greenhouse.LOCAL:8476", "greenhouse", "localhost", "localhost:80"),
        *("192.168.1.7", "192.168.1.7:8476", "[fd00::7]", "[fd00::7]:8476", "greenhouse.local."),
        # What the second of two is called by systemd-resolved, and by avahi
        *("greenhouse11.local", "Greenhouse-2.local:80", "pi7.local"),
    ],
)
def test_a_console_is_called_by_its_names_and_by_numbers(host: str) -> None:
    assert is_own_host(host, HOSTS)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "greenhouse.local.evil.example", "", "a b", "user@greenhouse.local"),
        *("greenhouse.local:80:80", "localhost.evil.example", "[::1", "192.168.1.7.evil.example"),
        *("greenhouse.local/", "0x7f.1", "127.1", "greenhouse.local:999999"),
        *("greenhouse2", "greenhouse2.local.evil.example", "2.local", "greenhouse2.example"),
        *("greenhouse-.local", "greenhouse12345.local"),
    ],
)
def test_a_name_of_somebody_else_leads_nowhere(host: str) -> None:
    assert not is_own_host(host, HOSTS)


FORM = {"content_type": "application/x-www-form-urlencoded", "content_length": "10"}
SAME = {"origin": "http://greenhouse.local", **FORM}


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (head(), 0),
        (head("POST", **SAME), 0),
        (head("POST", **{**SAME, "origin": "https://greenhouse.local"}), 0),
        (head("PUT"), 405),
        (head("POST", **FORM), 403),
        (head("POST", **{**SAME, "origin": "null"}), 403),
        (head("POST", **{**SAME, "origin": "http://evil.example"}), 403),
        (head("POST", **{**SAME, "origin": "http://greenhouse.local.evil.example"}), 403),
        (head("POST", **{**SAME, "content_type": "text/plain"}), 415),
        (head("POST", **{**SAME, "content_type": "application/json"}), 415),
        (head("POST", **{**SAME, "content_length": str(MAX_BODY_BYTES + 1)}), 413),
        (head("POST", **{**SAME, "content_length": "+5"}), 411),
        (head("POST", **{**SAME, "sec_fetch_site": "cross-site"}), 403),
        (head(sec_fetch_site="cross-site", sec_fetch_mode="cors"), 403),
        (head(sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 0),
        (head(host="evil.example"), 421),
        (head(transfer_encoding="chunked"), 400),
        (head(upgrade="websocket"), 400),
    ],
)
def test_what_goes_no_further(asked: RequestHead, status: int) -> None:
    fault = fault_of(asked, HOSTS)
    assert (fault.status if fault else 0) == status


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"{SESSION_COOKIE}={TOKEN}", TOKEN),
        (f"a=b; {SESSION_COOKIE}={TOKEN}; c=d", TOKEN),
        (f"{SESSION_COOKIE}={TOKEN}; {SESSION_COOKIE}={'B' * 43}", ""),
        (f"{SESSION_COOKIE}=", ""),
        (f"{SESSION_COOKIE}={TOKEN}x", ""),
        (f"{SESSION_COOKIE}=../../etc/passwd", ""),
        (f"x{SESSION_COOKIE}={TOKEN}", ""),
        ("", ""),
    ],
)
def test_a_cookie_is_ours_and_there_once(line: str, value: str) -> None:
    assert cookie(head(cookie=line), SESSION_COOKIE) == value


def test_an_address_that_asks_too_fast_waits_and_others_do_not() -> None:
    pace = Pace()
    assert all(pace.take("a", 0.0) for _ in range(int(BURST)))
    assert not pace.take("a", 0.0)
    assert pace.take("b", 0.0)
    assert pace.take("a", 1.0)


def test_the_table_of_addresses_is_bounded() -> None:
    pace = Pace()
    for number in range(MAX_CALLERS * 2):
        pace.take(str(number), 0.0)
    assert len(pace._of) == MAX_CALLERS
