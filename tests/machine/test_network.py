from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent.machine.kernel import Kernel
from agent.machine.network import (
    Network,
    addresses4,
    addresses6,
    name_servers,
    network,
    routers4,
    routers6,
)
from tests.fakes.kernel import a_pi


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


def test_this_machine_is_read_too() -> None:
    network(Kernel())


@given(st.text(max_size=120))
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (addresses4, addresses6, routers4, routers6):
        parse(text)
        parse(f"\n{text} 00000000 {text} 0003 {text} 1 2 3 4 5")
