import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import KeyRefused, ProviderError, QuotaExhausted, TransientProviderError
from agent.health.base import Level, ModelService, Patient
from agent.health.checks import network
from agent.health.checks.network import check_network, check_provider
from agent.machine.wireless import WIFI_REFUSED
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


@pytest.mark.parametrize("is_cabled", [True, False])
async def test_a_refused_wifi_password_is_named(
    patient: Patient, pi: Path, *, is_cabled: bool
) -> None:
    write(pi, WIFI_REFUSED, "")
    if not is_cabled:
        for name in ("proc/net/fib_trie", "proc/net/if_inet6"):
            write(pi, name, "")
    found = await check_network(patient)
    assert found.level is Level.WARNING
    assert "Wi-Fi password" in found.sentence
    assert "barnacle.toml" in found.sentence


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


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def refusing() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def asking(patient: Patient, url: str, key_source: str = "") -> Patient:
    return replace(patient, find_service=lambda: ModelService(url, key_source))


async def test_no_service_is_fine(patient: Patient) -> None:
    found = await check_provider(patient)
    assert found.level is Level.OK
    assert "OPENAI_API_KEY" in found.sentence


async def test_a_program_is_looked_at_and_never_asked(patient: Patient) -> None:
    def asking_program(trouble: str, key_source: str = "") -> Patient:
        service = ModelService("", key_source, "my-cli", lambda: trouble)
        return replace(patient, find_service=lambda: service)

    found = await check_provider(asking_program(""))
    assert (found.level, found.sentence.split(",")[0]) == (Level.OK, "my-cli can run isolated")
    assert "key from SOME_KEY" in (await check_provider(asking_program("", "SOME_KEY"))).sentence
    found = await check_provider(asking_program("no bubblewrap"))
    assert found.level is Level.FAILED
    assert "my-cli cannot answer: no bubblewrap" in found.sentence


async def test_a_service_that_accepts_is_fine(patient: Patient, listening: int) -> None:
    found = await check_provider(
        asking(patient, f"http://127.0.0.1:{listening}/v1", "provider.api_key")
    )
    assert found.level is Level.OK
    assert found.sentence == f"127.0.0.1:{listening} answers, key from provider.api_key"


async def test_a_service_that_cannot_be_reached_is_a_warning(
    patient: Patient, refusing: int
) -> None:
    found = await check_provider(asking(patient, f"http://127.0.0.1:{refusing}/v1"))
    assert found.level is Level.WARNING
    assert "Connection refused" in found.sentence


async def test_a_host_that_is_no_name_is_a_warning(patient: Patient) -> None:
    found = await check_provider(asking(patient, f"http://{'x' * 70}..invalid/v1"))
    assert found.level is Level.WARNING


async def test_through_a_proxy_nothing_is_tried(patient: Patient) -> None:
    behind = replace(patient, environ={"https_proxy": "http://127.0.0.1:9"})
    found = await check_provider(asking(behind, "https://llm.invalid/v1"))
    assert found.level is Level.OK
    assert "proxy" in found.sentence


@pytest.mark.parametrize(
    ("failure", "level", "said"),
    [
        (KeyRefused("invalid x-api-key"), Level.FAILED, "create a new one"),
        (QuotaExhausted("no credit"), Level.FAILED, "top it up"),
        (TransientProviderError("503"), Level.WARNING, "503"),
    ],
)
async def test_a_key_is_tried(
    patient: Patient, failure: ProviderError, level: Level, said: str
) -> None:
    async def refuse() -> str:
        raise failure

    asked = asking(replace(patient, try_key=refuse), "https://llm.invalid/v1", "OPENAI_API_KEY")
    found = await check_provider(asked)
    assert found.level is level
    assert said in found.sentence
    assert "OPENAI_API_KEY" in found.sentence


async def test_a_key_that_is_taken_is_fine(patient: Patient) -> None:
    async def accept() -> str:
        return ", and more"

    asked = asking(replace(patient, try_key=accept), "https://llm.invalid/v1", "OPENAI_API_KEY")
    found = await check_provider(asked)
    assert found.level is Level.OK
    assert found.sentence == "llm.invalid accepts the key from OPENAI_API_KEY, and more"


async def test_a_service_that_says_nothing_is_a_warning(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "_TRY_TIMEOUT_S", 0.01)

    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    asked = asking(replace(patient, try_key=hang), "https://llm.invalid/v1", "OPENAI_API_KEY")
    assert (await check_provider(asked)).level is Level.WARNING
