import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.context import ChannelContext
from agent.channels.irc import channel as module
from agent.channels.irc.channel import MAX_TEXT_BYTES, IrcChannel
from agent.channels.irc.client import READ_LIMIT_BYTES
from agent.channels.irc.login import IrcLogin
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import IrcSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Outbound
from agent.system.clock import SystemClock
from tests.contracts.listener import Listener, answer, listening
from tests.fakes import irc_server, irc_services
from tests.fakes.irc_server import CHANNEL, Ngircd, Visitor
from tests.fakes.raw_server import serving
from tests.waits import wait_until

PASSWORD = "hunter2-of-the-tests"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Ngircd]:
    async with irc_server.running(tmp_path / "ngircd") as started:
        yield started


@contextlib.asynccontextmanager
async def visiting(port: int, nick: str, *channels: str, user: str = "") -> AsyncIterator[Visitor]:
    visitor = Visitor(nick, user)
    await visitor.enter(port, *channels)
    try:
        yield visitor
    finally:
        await visitor.leave()


def at(
    port: int, password: str = "", *, folder: Path | None = None, **wanted: object
) -> IrcChannel:
    settings = IrcSettings(url=f"irc://127.0.0.1:{port}", channels=(CHANNEL,), **wanted)  # type: ignore[arg-type]  # of the tests
    login = login_of(settings, password)
    return IrcChannel(settings, login, place_in(folder), SystemClock(), line_every_s=0.0)


def place_in(folder: Path | None) -> ChannelContext:
    """Return where it keeps what it knows, or where nothing can be kept."""
    there = folder or Path(os.devnull)
    return ChannelContext(there, ReceivedFiles(there), lambda one: "mallory" not in one.sender)


def login_of(settings: IrcSettings, password: str = "") -> IrcLogin:
    account = settings.account or settings.nick
    return IrcLogin(settings.url, settings.nick, account, Secret(password))


def told(text: str, to: str = CHANNEL) -> Outbound:
    return Outbound(1, "irc", to, text, "")


async def present(visitor: Visitor, nick: str) -> None:
    await wait_until(
        lambda: any(one.command == "JOIN" and one.nick == nick for one in visitor.heard)
    )


async def test_a_nick_that_is_taken_is_had_when_it_is_free(
    server: Ngircd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.1)
    async with (
        visiting(server.port, "anna", CHANNEL) as anna,
        visiting(server.port, "barnacle") as thief,
        listening(at(server.port)),
    ):
        await present(anna, "barnacle_")
        await thief.leave()
        wanted = ("NICK", "barnacle_", "barnacle")
        await wait_until(
            lambda: wanted in [(one.command, one.nick, one.parameter(0)) for one in anna.heard]
        )


async def test_nothing_in_an_answer_is_a_command(server: Ngircd) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna:
        channel = at(server.port)
        async with listening(channel):
            await present(anna, "barnacle")
            await channel.send(told("first\r\nQUIT :bye\nPRIVMSG anna :psst"))
            await anna.catch_up()
            assert anna.told("barnacle", CHANNEL) == ["first", "QUIT :bye", "PRIVMSG anna :psst"]
            assert not anna.told("barnacle", "anna")


@pytest.mark.parametrize("target", ["nobody-here", "anna,bert", "two words", ""])
async def test_who_is_not_there_gets_nothing_and_it_is_said(server: Ngircd, target: str) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna:
        channel = at(server.port)
        async with listening(channel):
            await present(anna, "barnacle")
            with pytest.raises(MessageRefused):
                await channel.send(told("hello", target))


async def test_without_a_connection_nothing_is_said_to_be_sent(server: Ngircd) -> None:
    with pytest.raises(ChannelUnavailable):
        await at(server.port).send(told("hello"))


async def test_a_server_that_ends_while_a_line_goes_has_not_taken_it(server: Ngircd) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna:
        channel = at(server.port)
        listener = asyncio.ensure_future(channel.listen(Listener().deliver))
        await present(anna, "barnacle")
        server.freeze()
        sending = asyncio.ensure_future(channel.send(told("hello")))
        await asyncio.sleep(0)
        await server.stop()
        with pytest.raises(ChannelUnavailable):
            await sending
        with pytest.raises(ChannelUnavailable):
            await listener


async def test_the_longest_line_arrives_whole(server: Ngircd) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna:
        channel = at(server.port)
        async with listening(channel):
            await present(anna, "barnacle")
            text = "ü" * (MAX_TEXT_BYTES // 2)
            await channel.send(told(text))
            await anna.catch_up()
            assert anna.told("barnacle", CHANNEL) == [text]


async def test_a_program_is_told_what_we_are_once(server: Ngircd) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna, listening(at(server.port)):
        await present(anna, "barnacle")
        for _ in range(3):
            anna.say("PRIVMSG", "barnacle", "\x01VERSION\x01")
        anna.say("PRIVMSG", "barnacle", "hello")
        await wait_until(lambda: anna.has("NOTICE"))
        await anna.catch_up()
        answers = [one for one in anna.heard if "VERSION Barnacle" in one.parameter(1)]
        assert len(answers) == 1


async def test_a_password_never_goes_where_others_can_read_it() -> None:
    settings = IrcSettings(url="irc://irc.example.org")
    channel = IrcChannel(settings, login_of(settings, PASSWORD), place_in(None), SystemClock())
    with pytest.raises(ChannelRefused, match="use ircs://"):
        await channel.listen(Listener().deliver)


async def test_with_sasl_the_account_is_ours_and_others_are_known_by_theirs(
    tmp_path: Path,
) -> None:
    async with irc_services.running(tmp_path / "irc") as port:
        await (await irc_services.registered(port, "barnacle", PASSWORD)).leave()
        anna = await irc_services.registered(port, "anna", "of-anna")
        anna.say("JOIN", CHANNEL)
        channel = at(port, PASSWORD)
        async with listening(channel) as listener:
            await present(anna, "barnacle")
            anna.say("WHOIS", "barnacle")
            await wait_until(lambda: anna.has("318"))
            [logged_in] = [one for one in anna.heard if one.command == "330"]
            assert logged_in.parameter(2) == "barnacle"
            anna.say("PRIVMSG", "barnacle", "hello")
            [heard] = await listener.first()
            assert heard.sender == "account:anna"
            await channel.send(answer(heard, "Hello."))
            await anna.catch_up()
            assert anna.told("barnacle", "anna") == ["Hello."]
        await anna.leave()


async def test_what_a_server_makes_of_a_line_is_said_once(tmp_path: Path) -> None:
    async with (
        irc_services.running(tmp_path / "irc") as port,
        visiting(port, "anna", CHANNEL) as anna,
    ):
        anna.say("MODE", CHANNEL, "+G")
        await wait_until(lambda: anna.has("MODE"))
        channel = at(port)
        async with listening(channel):
            await present(anna, "barnacle")
            await channel.send(told("a rude word"))
            await anna.catch_up()
            assert anna.told("barnacle", CHANNEL) == ["a **** word"]


async def test_a_wrong_password_is_refused_with_what_to_set(tmp_path: Path) -> None:
    async with irc_services.running(tmp_path / "irc") as port:
        await (await irc_services.registered(port, "barnacle", PASSWORD)).leave()
        with pytest.raises(ChannelRefused, match=r"channels\.irc\.account") as caught:
            await at(port, "wrong").listen(Listener().deliver)
        assert "wrong" not in str(caught.value)


async def test_without_sasl_nickserv_is_told_the_password(tmp_path: Path) -> None:
    async with irc_services.running(tmp_path / "irc", has_sasl=False) as port:
        await (await irc_services.registered(port, "barnacle", PASSWORD)).leave()
        async with visiting(port, "anna", CHANNEL) as anna, listening(at(port, PASSWORD)):
            await present(anna, "barnacle")

            def is_logged_in() -> bool:
                anna.say("WHOIS", "barnacle")
                return anna.has("330")

            await wait_until(is_logged_in)


async def test_what_is_for_somebody_goes_to_nobody_who_took_the_nick(
    server: Ngircd, tmp_path: Path
) -> None:
    """A reminder is said days later, and the agent was restarted in between."""
    async with (
        visiting(server.port, "anna", CHANNEL) as anna,
        listening(at(server.port, folder=tmp_path)) as listener,
    ):
        await present(anna, "barnacle")
        anna.say("PRIVMSG", "barnacle", "remind me of the pills at eight")
        await listener.first()
    channel = at(server.port, folder=tmp_path)
    async with (
        visiting(server.port, "anna", CHANNEL, user="mallory") as thief,
        listening(channel) as listener,
    ):
        await present(thief, "barnacle")
        thief.say("PRIVMSG", "barnacle", "hello")
        await listener.first()
        with pytest.raises(MessageRefused, match="somebody else by now"):
            await channel.send(told("the pills", "anna"))
        await thief.catch_up()
        assert thief.told("barnacle", "anna") == []
        await thief.leave()
        with pytest.raises(MessageRefused, match="is not there"):
            await channel.send(told("the pills", "anna"))
        async with visiting(server.port, "Anna", user="anna") as anna:
            await channel.send(told("the pills", "anna"))
            await anna.catch_up()
            assert anna.told("barnacle", "Anna") == ["the pills"]


async def test_a_stranger_of_that_name_is_told_no_password(
    server: Ngircd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.1)
    channel = at(server.port, PASSWORD)
    async with visiting(server.port, "NickServ", CHANNEL) as mallory, listening(channel):
        await present(mallory, "barnacle")
        await mallory.catch_up()
        assert mallory.told("barnacle", "NickServ") == []
        await wait_until(lambda: "a service of the network" in channel.gap)
        await mallory.leave()
        await wait_until(lambda: "no NickServ is there" in channel.gap)


async def test_a_password_too_long_for_nickserv_keeps_us_out_of_no_room(tmp_path: Path) -> None:
    async with irc_services.running(tmp_path / "irc", has_sasl=False) as port:
        channel = at(port, "x" * 600)
        async with visiting(port, "anna", CHANNEL) as anna, listening(channel):
            await present(anna, "barnacle")
            assert "too long" in channel.gap
            assert "xxx" not in channel.gap


async def test_a_question_of_the_server_is_a_sign_of_life(tmp_path: Path) -> None:
    # The least that ngircd takes
    async with irc_server.running(tmp_path / "ngircd", ping_s=5) as server:
        channel = at(server.port)
        async with listening(channel):
            await wait_until(lambda: channel.pulse.age_s > 3, 30)
            await wait_until(lambda: channel.pulse.age_s < 1, 10)


async def test_the_lines_of_two_messages_stand_together(server: Ngircd) -> None:
    async with visiting(server.port, "anna", CHANNEL) as anna:
        channel = at(server.port)
        async with listening(channel):
            await present(anna, "barnacle")
            letters = ("abcd", "efgh", "ijkl")
            async with asyncio.TaskGroup() as tasks:
                for lines in letters:
                    tasks.create_task(channel.send(told("\n\n".join(lines), CHANNEL.upper())))
            await anna.catch_up()
            heard = "".join(one.parameter(1) for one in anna.heard if one.command == "PRIVMSG")
            assert sorted(heard[at : at + 4] for at in (0, 4, 8)) == list(letters)


async def test_a_room_that_lets_nobody_in_is_told_until_it_does(
    server: Ngircd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.1)
    async with visiting(server.port, "anna", CHANNEL) as anna:
        anna.say("MODE", CHANNEL, "+k", "key")
        await anna.catch_up()
        channel = at(server.port)
        async with listening(channel):
            await wait_until(lambda: channel.gap)
            assert channel.gap.startswith(f"cannot join {CHANNEL} (")
            assert "channels.irc.channels" in channel.gap
            anna.say("MODE", CHANNEL, "-k", "key")
            await present(anna, "barnacle")
            await wait_until(lambda: not channel.gap)


async def test_a_line_without_an_end_after_a_silence_is_the_servers_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.channels.irc.client.SILENCE_LIMIT_S", 0.2)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"PING")
        writer.write(b"x" * 2 * READ_LIMIT_BYTES)
        await reader.read()

    async with serving(serve) as url:
        with pytest.raises(ChannelUnavailable, match="too long"):
            await at(int(url.rpartition(":")[2])).listen(Listener().deliver)


async def test_a_room_that_keeps_us_out_meanwhile_refuses_no_message() -> None:
    """Rooms are tried again every minute, and some want a registered nick."""
    told_of = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            if line.startswith(b"USER"):
                writer.write(b":irc 001 barnacle :Welcome\r\n")
            elif line.startswith(b"PRIVMSG"):
                told_of.append(line)
                writer.write(b":irc 477 barnacle %b :You need a registered nick\r\n" % room)
            elif line.startswith(b"PING"):
                writer.write(b":irc PONG irc " + line.split()[1] + b"\r\n")

    room = CHANNEL.encode()
    async with serving(serve) as url:
        channel = at(int(url.rpartition(":")[2]))
        async with listening(channel):
            await wait_until(lambda: channel._welcome is not None)
            await channel.send(told("hello", "anna"))
            assert told_of == [b"PRIVMSG anna :hello\r\n"]
            with pytest.raises(MessageRefused, match="registered nick"):
                await channel.send(told("hello", CHANNEL))
