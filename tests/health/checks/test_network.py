from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.network import check_network
from tests.fakes.kernel import a_pi, write


@pytest.fixture
def pi(root: Path) -> Path:
    return a_pi(root)


@pytest.mark.usefixtures("pi")
async def test_a_pi_at_home_is_fine(patient: Patient) -> None:
    found = await check_network(patient)
    assert found.level is Level.OK
    assert found.sentence == "192.168.1.37 via 192.168.1.1 on wlan0, wlan0 at -56 dBm"


async def test_a_faint_access_point_is_a_warning(patient: Patient, pi: Path) -> None:
    text = (pi / "proc/net/wireless").read_text()
    write(pi, "proc/net/wireless", text.replace("54.  -56.", "21.  -83."))
    found = await check_network(patient)
    assert found.level is Level.WARNING
    assert "-83 dBm" in found.sentence


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (("sys/class/net/wlan0/carrier",), "plug in a cable"),
        (("proc/net/fib_trie", "proc/net/if_inet6"), "has no address"),
        (("proc/net/route", "proc/net/ipv6_route"), "no route out"),
    ],
)
async def test_what_is_missing_is_said(
    patient: Patient, pi: Path, gone: tuple[str, ...], said: str
) -> None:
    for name in gone:
        (pi / name).write_text("")
    if "carrier" in gone[0]:
        for name in ("proc/net/fib_trie", "proc/net/if_inet6", "proc/net/route"):
            (pi / name).write_text("")
        (pi / "proc/net/ipv6_route").write_text("")
    found = await check_network(patient)
    assert found.level is Level.WARNING
    assert said in found.sentence


async def test_without_a_network_hardware_works_on(patient: Patient) -> None:
    found = await check_network(patient)
    assert found.level is Level.WARNING
    assert "no network" in found.sentence
    assert "keep working" in found.sentence
