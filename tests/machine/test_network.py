from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.machine.kernel import Kernel
from agent.machine.network import (
    Network,
    addresses4,
    addresses6,
    leads_out4,
    name_servers,
    network,
    networks6,
    networks_here,
    routers4,
    routers6,
)
from tests.fakes.kernel import a_pi, write

# Of a home with an address of the Internet for each machine: a network, this machine, the way out
_ROUTES6 = """\
20010db8000000010000000000000000 40 00000000000000000000000000000000 00 \
00000000000000000000000000000000 00000100 00000001 00000000 00000001    wlan0
20010db80000000100000000000000aa 80 00000000000000000000000000000000 00 \
00000000000000000000000000000000 00000000 00000003 00000000 80200001    wlan0
20010db8000000020000000000000000 40 00000000000000000000000000000000 00 \
fe800000000000000000000000000001 00000258 00000001 00000000 00000003    wlan0
20000000000000000000000000000000 03 00000000000000000000000000000000 00 \
00000000000000000000000000000000 00000100 00000001 00000000 00000001      wg0
"""


def test_a_pi_at_home(tmp_path: Path) -> None:
    found = network(Kernel(a_pi(tmp_path)))
    assert found == Network(
        linked=("wlan0",),
        unlinked=("eth0",),
        addresses=("192.168.1.37", "fd00::dea6:32ff:fe00:1"),
        routers=("192.168.1.1 on wlan0", "fe80::1 on wlan0"),
    )
    assert found.is_up


def test_a_machine_that_tells_nothing_is_not_up(tmp_path: Path) -> None:
    assert network(Kernel(tmp_path)) == Network()
    assert not Network(addresses=("192.168.1.37",)).is_up


def test_a_route_without_a_router_is_no_way_out() -> None:
    assert routers4("Iface\nwlan0\t00000000\t00000000\t0001\n") == []


def test_name_servers_are_those_of_resolv_conf(tmp_path: Path) -> None:
    assert name_servers(Kernel(a_pi(tmp_path))) == ["192.168.1.1"]


def test_networks_are_the_home_of_those_that_no_router_leads_to(tmp_path: Path) -> None:
    root = a_pi(tmp_path)
    write(root, "proc/net/ipv6_route", _ROUTES6)
    found = networks_here(Kernel(root))
    assert [str(one) for one in found] == ["192.168.1.37/32", "2001:db8::/56"]


def test_this_machine_is_read_too() -> None:
    network(Kernel())
    networks_here()


@given(st.text(max_size=120))
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (addresses4, addresses6, networks6, routers4, routers6):
        parse(text)
        parse(f"\n{text} 00000000 {text} 0003 {text} 1 2 3 4 5")


@pytest.mark.parametrize(
    ("route", "leads_out"),
    [
        ("eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0", True),
        # A modem has no router
        ("wwan0 00000000 00000000 0001 0 0 0 00000000 0 0 0", True),
        ("eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0", False),
        ("eth0 00000000 010200C0 0002 0 0 0 00000000 0 0 0", False),
        ("eth0 00000000 010200C0 what", False),
        ("", False),
    ],
)
def test_an_older_address_leads_out_where_a_route_leads_everywhere(
    tmp_path: Path, route: str, *, leads_out: bool
) -> None:
    file = tmp_path / "proc" / "net" / "route"
    file.parent.mkdir(parents=True)
    file.write_text(f"Iface Destination Gateway Flags RefCnt Use Metric Mask\n{route}\n")
    assert leads_out4(Kernel(tmp_path)) is leads_out


def test_where_nothing_is_known_of_routes_nothing_changes(tmp_path: Path) -> None:
    assert leads_out4(Kernel(tmp_path))
