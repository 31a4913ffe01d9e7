"""IRC for the checks that every platform passes: a real server, with Anna in a channel."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.irc.channel import IrcChannel
from agent.channels.irc.login import IrcLogin
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import IrcSettings
from agent.config import Secret
from agent.messages import Inbound, Outbound
from agent.system.clock import SystemClock
from tests.fakes.irc_server import CHANNEL, Visitor
from tests.fakes.relay import Relay
from tests.waits import wait_until

NICK = "barnacle"


class IrcPlatform:
    """Anna, who waits until the agent is there before she speaks."""

    repeats_what_was_not_confirmed = False
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "trouble_is_no_refusal_and_the_next_try_succeeds": "fails with its connection only",
            "a_repeated_message_has_the_same_id": "has no copy of anything",
            "what_is_written_during_a_restart_is_heard": "keeps nothing for who is away",
            "a_wish_to_be_left_alone_is_handed_on": "never says when to come again",
            "a_file_is_kept_before_its_message_is_heard": "has no files",
        }
    )

    def __init__(self, relay: Relay, anna: Visitor, folder: Path) -> None:
        self._relay = relay
        self._folder = folder
        self.anna = anna
        # Of which the server need not know yet
        self._cuts = 0
        self.channel = self.restarted()

    def restarted(self) -> IrcChannel:
        """Of which Anna has heard what it has sent, for who looks at it at once."""
        wanted = IrcSettings(
            url=f"irc://127.0.0.1:{self._relay.port}", nick=NICK, channels=(CHANNEL,)
        )
        login = IrcLogin(wanted.url, wanted.nick, wanted.nick, Secret())
        place = ChannelContext(self._folder / "irc", ReceivedFiles(self._folder), lambda _: True)
        channel = IrcChannel(wanted, login, place, SystemClock(), line_every_s=0.0)
        send = channel.send

        async def send_and_see(message: Outbound) -> None:
            await send(message)
            await self.anna.catch_up()

        channel.send = send_and_see  # type: ignore[method-assign]  # around the real one
        return channel

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await self._present()
        called = f"{NICK}: {text}" if is_group and calls else text
        self.anna.say("PRIVMSG", CHANNEL if is_group else NICK, called)

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        raise NotImplementedError

    async def repeat(self) -> None:
        raise NotImplementedError

    def shown(self, inbound: Inbound) -> list[str]:
        where = CHANNEL if inbound.is_group else self.anna.nick
        return self.anna.told(NICK, where)

    def files(self) -> list[bytes]:
        return []

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        raise NotImplementedError

    def cut_listening(self) -> None:
        self._cuts += self._is_there()
        self._relay.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")

    async def _present(self) -> None:
        """Nothing is kept for who is away: Anna sees the agent come into the channel first."""
        await wait_until(self._is_there)

    def _is_there(self) -> bool:
        ways = [line.command for line in self.anna.heard if line.nick == NICK]
        ways = [command for command in ways if command in {"JOIN", "QUIT"}]
        return ways[-1:] == ["JOIN"] and ways.count("QUIT") >= self._cuts
