"""F32: addresses of this machine and its network, in every form in which they may be written."""

import json
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network

import httpx
import pytest

from agent.errors import BadArguments
from agent.messages import ToolResult
from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.http_request import HttpRequestTool
from agent.tools.web import Lookup, Web
from agent.tools.web_fetch import WebFetchTool
from tests.fakes.resolver import PUBLIC, FixedResolver, RebindingResolver
from tests.fakes.workspace import used

FORMS = [
    *("127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001"),
    *("0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "017700000001", "00177.0.0.1", "127.0.0.01"),
    *("127.0.0.1.", "0.0.0.0", "0", "0x0", "00", "0.0.0.1"),
    *("１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①", "১২৭.0.0.1", "127%2e0%2e0%2e1"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    *("[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::7f00:1]"),
    *("[::ffff:0:127.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[100::1]", "[5f00::1]"),
    *("[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[fc00::1]", "[fd00:ec2::254]"),
    *("[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[fec0::1]", "[::1%25lo]"),
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254"),
    *("2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "169.254.170.2"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "192.88.99.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "203.0.113.7"),
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain"),
    *("raspberrypi", "raspberrypi.local", "printer.lan", "nas.home.arpa", "wiki.internal"),
    *("metadata.google.internal", "router.home", "x.onion", "ip6-localhost"),
    *("user@127.0.0.1", "example.org@127.0.0.1", "example.org:80@127.0.0.1", "@localhost"),
    *("example.org\\@127.0.0.1", "127.0.0.1\\.example.org", "127.0.0.1#@example.org"),
    *("[127.0.0.1]", "[localhost]", "127.0.0.1:80:80", "[::1]x", "0x7f000001.", "1.2.3.4.5"),
]


def answering(
    answer: Callable[[httpx.Request], httpx.Response], asked: list[httpx.Request]
) -> HttpClient:
    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer(request)

    return HttpClient(httpx.MockTransport(handle))


def hello(_: httpx.Request) -> httpx.Response:
    stream = httpx.ByteStream(b"hello")
    return httpx.Response(200, headers={"content-type": "text/plain"}, stream=stream)


def redirecting(*locations: str) -> Callable[[httpx.Request], httpx.Response]:
    left = [*locations]

    def answer(request: httpx.Request) -> httpx.Response:
        if left:
            headers = {"location": left.pop(0).encode()}
            return httpx.Response(302, headers=headers, stream=httpx.ByteStream(b""))
        return hello(request)

    return answer


def test_there_are_at_least_sixty_forms() -> None:
    assert len(set(FORMS)) == len(FORMS) >= 60


@pytest.mark.parametrize("host", FORMS)
@pytest.mark.parametrize("kind", [WebFetchTool, HttpRequestTool])
def test_no_form_is_taken_before_anybody_is_asked(
    host: str, kind: type[WebFetchTool] | type[HttpRequestTool]
) -> None:
    tool = kind(Web(answering(hello, []), WebRules()))
    with pytest.raises(BadArguments):
        tool.parse(json.dumps({"url": f"http://{host}/latest/meta-data/"}))


@pytest.mark.parametrize("host", FORMS)
async def test_no_form_is_followed_to(host: str) -> None:
    asked: list[httpx.Request] = []
    names = FixedResolver({"example.org": [PUBLIC], "127.0.0.1": ["127.0.0.1"]})
    http = answering(redirecting(f"http://{host}/"), asked)
    result = await used(WebFetchTool(Web(http, WebRules(), names)), url="http://example.org/")
    assert not result.success
    assert len(asked) == 1
    assert "could not be used" not in result.text
    await http.aclose()


async def fetched(
    resolver: Lookup, url: str = "http://example.org/"
) -> tuple[ToolResult, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    http = answering(hello, asked)
    result = await used(WebFetchTool(Web(http, WebRules(), resolver)), url=url)
    await http.aclose()
    return result, asked


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%2", "::ffff:10.0.0.1"]
)
async def test_a_name_that_leads_home_is_refused(address: str) -> None:
    result, asked = await fetched(FixedResolver({"example.org": [PUBLIC, address]}))
    assert (result.success, asked) == (False, [])


AT_HOME = (IPv6Network("2a02:8109:1:2::/64"), IPv4Network("93.184.216.40/32"))


@pytest.mark.parametrize("address", ["2a02:8109:1:2::1", "93.184.216.40"])
async def test_an_address_of_the_own_network_is_none_of_the_internet(address: str) -> None:
    """In IPv6 the router and each machine at home have addresses like all others."""
    asked: list[httpx.Request] = []
    http = answering(hello, asked)
    resolver = FixedResolver({"example.org": [address]})
    tool = WebFetchTool(Web(http, WebRules(networks=lambda: AT_HOME), resolver))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(BadArguments):
        tool.parse(json.dumps({"url": f"http://{host}:8123/"}))
    assert not (await used(tool, url="http://example.org:8123/")).success
    assert asked == []
    listed = WebRules(local=("example.org:8123",), networks=lambda: AT_HOME)
    result = await used(WebFetchTool(Web(http, listed, resolver)), url="http://example.org:8123/")
    assert (result.success, len(asked)) == (True, 1)
    await http.aclose()


async def test_what_was_checked_is_what_is_connected_to() -> None:
    resolver = RebindingResolver(PUBLIC, "127.0.0.1")
    result, asked = await fetched(resolver, "https://example.org/a?b=c")
    assert (result.success, resolver.asked) == (True, 1)
    (request,) = asked
    assert str(request.url) == f"https://{PUBLIC}/a?b=c"
    assert request.headers["host"] == "example.org"
    # The certificate still has to be the name's
    assert request.extensions["sni_hostname"] == "example.org"


async def test_a_name_that_changes_between_two_redirects_is_checked_again() -> None:
    asked: list[httpx.Request] = []
    resolver = RebindingResolver(PUBLIC, "127.0.0.1")
    http = answering(redirecting("/again"), asked)
    result = await used(WebFetchTool(Web(http, WebRules(), resolver)), url="http://example.org/")
    assert (result.success, len(asked), resolver.asked) == (False, 1, 2)
    await http.aclose()
