import imaplib
from pathlib import Path

import msgspec
import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, EmailSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import certificates, mail_server
from tests.fakes.mail_server import LOCAL_PASSWORD, PASSWORD, VOUCHES

GOOD = EmailSettings(
    address="barnacle@example.org",
    imap="imaps://imap.example.org",
    smtp="submissions://smtp.example.org",
    password=Secret(PASSWORD),
    authserv_id=VOUCHES,
)


def reach(folder: Path) -> PlatformContext:
    return PlatformContext(Paths(None, folder), {}, HttpClient(), SystemClock())


def here(**changed: object) -> ChannelsSettings:
    server = mail_server.shared()
    urls = {
        "imap": f"imap://127.0.0.1:{server.imap}",
        "smtp": f"submission://127.0.0.1:{server.smtp}",
    }
    return ChannelsSettings(email=msgspec.structs.replace(GOOD, **(urls | changed)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"address": ""}, r"channels\.email\.address is not set"),
        ({"smtp": ""}, r"channels\.email\.smtp is not set"),
        ({"password": Secret()}, "BARNACLE_EMAIL_PASSWORD"),
        ({"authserv_id": ""}, "tell real senders from forged ones"),
        ({"imap": "imap://imap.example.org"}, "use imaps://"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(
    changed: dict[str, object], reason: str, tmp_path: Path
) -> None:
    wanted = ChannelsSettings(email=msgspec.structs.replace(GOOD, **changed))
    with pytest.raises(ConfigRefused, match=reason):
        platform("email").open(wanted, reach(tmp_path))


def test_it_opens_and_its_password_is_told_to_whoever_keeps_it_out_of_texts(tmp_path: Path) -> None:
    channels = ChannelsSettings(email=GOOD)
    assert platform("email").open(channels, reach(tmp_path)).name == "email"
    assert [one.reveal() for one in platform("email").secrets(channels, {})] == [PASSWORD]


async def test_both_servers_are_asked(tmp_path: Path) -> None:
    said = await platform("email").identify(here(), reach(tmp_path))
    assert said == f"reads and writes letters as barnacle@example.org, where {VOUCHES} vouches"


async def test_an_address_that_the_account_may_not_send_from_is_said(tmp_path: Path) -> None:
    smtp = f"submission://127.0.0.1:{mail_server.shared().owners}"
    good = here(smtp=smtp)
    assert "reads and writes letters" in await platform("email").identify(good, reach(tmp_path))
    other = here(smtp=smtp, user=GOOD.address, address="somebody.else@example.org")
    with pytest.raises(ChannelRefused, match=r"set channels\.email\.address"):
        await platform("email").identify(other, reach(tmp_path))


async def test_a_password_and_a_folder_may_have_letters_of_every_language(tmp_path: Path) -> None:
    server = mail_server.shared()
    with imaplib.IMAP4("127.0.0.1", server.imap) as client:
        client.login(GOOD.address, PASSWORD)
        # As programs of people name it there
        client.create('"Ger&AOQ-te"')
    channels = here(password=Secret(LOCAL_PASSWORD), folder="Geräte")
    assert "reads and writes" in await platform("email").identify(channels, reach(tmp_path))
    wrong = here(password=Secret("fälsch"))
    with pytest.raises(ChannelRefused, match=r"mail login of barnacle@example\.org refused") as met:
        await platform("email").identify(wrong, reach(tmp_path))
    assert "ä" not in str(met.value)


async def test_a_wrong_password_is_said_and_not_repeated(tmp_path: Path) -> None:
    wanted = here(password=Secret("of-somebody-else"))
    with pytest.raises(ChannelRefused, match="password_file") as caught:
        await platform("email").identify(wanted, reach(tmp_path))
    assert "of-somebody-else" not in str(caught.value)


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ChannelRefused, match="mail folder Agent not found"):
        await platform("email").identify(here(folder="Agent"), reach(tmp_path))


async def test_a_port_that_wants_tls_is_given_it_on_this_machine(tmp_path: Path) -> None:
    port = mail_server.shared().submission
    said = await platform("email").identify(
        here(smtp=f"submission://127.0.0.1:{port}"), reach(tmp_path)
    )
    assert "reads and writes letters" in said


async def test_a_server_of_ones_own_is_trusted_by_its_certificate_and_no_other(
    tmp_path: Path,
) -> None:
    server = mail_server.shared()
    urls = {
        "imap": f"imaps://127.0.0.1:{server.imaps}",
        "smtp": f"submission://127.0.0.1:{server.submission}",
    }
    known = here(**urls, ca_file=str(server.ca_file))
    assert "reads and writes letters" in await platform("email").identify(known, reach(tmp_path))
    with pytest.raises(ChannelUnavailable, match=r"channels\.email\.ca_file"):
        await platform("email").identify(here(**urls), reach(tmp_path))
    _, other = certificates.made(tmp_path, "IP:127.0.0.1")
    wrong = here(smtp=urls["smtp"], ca_file=str(other))
    with pytest.raises(ChannelUnavailable, match=r"channels\.email\.ca_file"):
        await platform("email").identify(wrong, reach(tmp_path))


def test_a_certificate_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    wanted = ChannelsSettings(email=msgspec.structs.replace(GOOD, ca_file="/nowhere.pem"))
    with pytest.raises(ConfigRefused, match=r"channels\.email\.ca_file /nowhere\.pem"):
        platform("email").open(wanted, reach(tmp_path))
