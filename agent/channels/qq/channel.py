"""QQ as a channel: its parts put together."""

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.opcodes.gateway import Gateway
from agent.channels.place import Place
from agent.channels.qq import sending
from agent.channels.qq.api import QqApi
from agent.channels.qq.dialect import QqDialect
from agent.channels.qq.events import NAME, Groups
from agent.channels.qq.listening import Ears, Listening
from agent.channels.qq.sending import Sending
from agent.channels.qq.windows import Windows
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.clock import Clock
from agent.messages import Address, Outbound
from agent.printable import printable_line

HINT = (
    "Your answer is shown in QQ as plain text: short paragraphs, no Markdown, and no addresses of "
    "pages, which it refuses."
)


class QqChannel(Channel):
    """One bot.

    Args:
        windows: what may be answered, kept over restarts.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True, answers_only=True
    )

    def __init__(
        self, api: QqApi, groups: Groups, windows: Windows, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        questions = OpenQuestions()
        self._sending = Sending(api, windows, questions)
        path = place.folder / "session.json"
        gateway = Gateway(QqDialect(api), path, self.pulse, clock)
        ears = Ears(api, gateway, windows, questions, place, groups)
        self._listening = Listening(ears, self.pulse, clock)

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def attends(self, message: Outbound) -> bool:
        """Return true if it can be sent: the platform takes only answers to messages."""
        return self._sending.may_go(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)


async def identify(api: QqApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("GET", "/users/@me")
    # Whether it can hear is not its name's to say
    await QqDialect(api).address(None)
    name = printable_line(str(me.get("username", "")), 64)
    return f"{name or 'a bot'} (id {printable_line(str(me.get('id', '')), 32)}) is there"
