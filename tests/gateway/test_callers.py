import pytest

from agent.gateway.callers import caller, exact, normal

PROXY, NEIGHBOUR = "2001:db8::1", "2001:db8::bad"
TRUSTED = frozenset({exact(PROXY)})


def forwarded(*hops: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", ", ".join(hops).encode())]


def test_a_neighbour_of_a_proxy_says_nobody_elses_name() -> None:
    assert caller(exact(PROXY), forwarded("203.0.113.9"), TRUSTED) == "203.0.113.9"
    assert caller(exact(NEIGHBOUR), forwarded("203.0.113.9"), TRUSTED) is None
    assert caller(exact(NEIGHBOUR), [], TRUSTED) == "2001:db8::/64"
    # Nor where its own address is what the proxy passes on
    hops = forwarded("203.0.113.9", NEIGHBOUR)
    assert caller(exact(PROXY), hops, TRUSTED) == "2001:db8::/64"


@pytest.mark.parametrize("proxy", ["2001:DB8:0::1", "2001:db8::1%eth0", "[2001:db8::1]"])
def test_a_proxy_is_the_same_in_every_spelling(proxy: str) -> None:
    assert caller(exact(proxy), forwarded("203.0.113.9"), TRUSTED) == "203.0.113.9"


def test_a_limit_is_kept_by_the_network_of_a_caller() -> None:
    assert caller(exact(PROXY), forwarded("2001:db8:9::1"), TRUSTED) == normal("2001:db8:9::2")
    assert normal(exact("::1")) == "::1"
    assert normal(exact("::ffff:192.0.2.7")) == "192.0.2.7"
