"""Base of every channel.

`listen` hands over one message at a time and goes on only when `deliver` returned: by then the
message is committed, so a platform may be told that it was received.
"""

import enum
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from agent.messages import Address, Attachment, Effect, Inbound, Outbound
from agent.system.clock import Clock

Deliver = Callable[[Inbound], Awaitable[None]]

# For a model whose answers are heard and not seen
SPOKEN_HINT = (
    "Your answer is read aloud in a room: one or two short plain sentences, no lists, no code."
)
# A million possibilities, for two minutes, of which each question takes one
QUESTION_ID_CHARS = 4
# Nothing that is taken for something else
_EASILY_TYPED = "abcdefghjkmnpqrstuvwxyz23456789"


class Answer(enum.Enum):
    """Answer of a person to a question about one tool call."""

    # This call, once
    YES = "yes"
    # Not this call
    NO = "no"
    # Every call of the narrow kind that the question named, for a while
    ALWAYS = "always"
    # Nobody could be asked, or nobody answered in time
    NONE = "none"


class YesBy(enum.Enum):
    """Form that a yes to a question must have; a no may be a plain word everywhere."""

    # The word alone, where no other question is open to the person
    WORD = "word"
    # The word with the question's id
    ID = "id"
    # The button on the device
    DEVICE = "device"


def new_question_id() -> str:
    """Return an id that is short enough to type and too rare to guess in time."""
    return "".join(secrets.choice(_EASILY_TYPED) for _ in range(QUESTION_ID_CHARS))


def _no_word(_said: Inbound) -> bool:
    """Accept no plain word: nobody vouches that this question is the only one."""
    return False


class Question(Struct, frozen=True):
    """Question before a tool acts; `arguments_json` is shown whole or not asked.

    Args:
        words: the tool's own sentence about the call, empty where it has none.
        always: what "always" would stand for, in words; empty where only yes and no are answers.
        question_id: a yes counts only from whoever was asked, where they were asked, to this.
        yes_by: the form that a yes must have.
        files: pictures that go before it, where files can go.
        takes_word: true if a plain word in this message can answer no other question.
        effect: of the call; None where no call is asked about.
    """

    tool: str
    arguments_json: str
    reason: str
    words: str = ""
    always: str = ""
    question_id: str = field(default_factory=new_question_id)
    yes_by: YesBy = YesBy.ID
    files: tuple[Attachment, ...] = ()
    takes_word: Callable[[Inbound], bool] = _no_word
    effect: Effect | None = None


class Mark(enum.Enum):
    """Mark on a person's message, which says something without a word."""

    # It is here and will be answered
    SEEN = "seen"
    # Its answer is there
    DONE = "done"
    # No answer will come of it by itself
    FAILED = "failed"


class Abilities(Struct, frozen=True):
    """Abilities of a platform; the rest of the agent asks these and never the channel's name.

    Args:
        hint: a sentence for the model: what its answers may hold there.
        typing_every_s: how often "typing" has to be said again; None where it cannot be.
        send_s: how long a message may be on its way, beyond what is usual.
        upload_s: how long one file may be on its way, beyond what its message takes.
        is_local: who writes there was identified by this machine, not by a platform.
        answers_only: it lets us write only for a while after somebody has; what waits by then goes
            before anything else when they write again.
        is_relayed: programs write there for people: nothing is more than a user's word, and
            nobody is paired by a message.
        programs: accounts there that are programs: nothing they say is more than a user's word.
        voice_type: the media type of voice messages there; empty where none can be sent.
        group_stop: a sentence for a group in which a stop alone may not be heard: what it needs.
    """

    hint: str = ""
    typing_every_s: float | None = None
    send_s: float = 0.0
    upload_s: float = 0.0
    shows_drafts: bool = False
    shows_marks: bool = False
    takes_files: bool = False
    asks: bool = False
    is_local: bool = False
    answers_only: bool = False
    is_relayed: bool = False
    programs: frozenset[str] = frozenset()
    voice_type: str = ""
    group_stop: str = ""


class Pulse:
    """Time of a channel's last sign from its platform: a completed poll, a byte of a stream."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard_s = clock.monotonic_s()

    def beat(self) -> None:
        self._heard_s = self._clock.monotonic_s()

    @property
    def age_s(self) -> float:
        return self._clock.monotonic_s() - self._heard_s


class Channel(ABC):
    """Way to talk to a person.

    What cannot be done is raised as a `ChannelError`; `listen` and `send` are called again by
    whoever looks after the channel, no implementation waits out a platform by itself.
    """

    name: str = "channel"
    abilities: Abilities = Abilities()
    # None where nothing can go deaf
    pulse: Pulse | None = None

    @property
    def gap(self) -> str:
        """Return what does not work though the channel listens; empty if all does."""
        return ""

    @abstractmethod
    async def listen(self, deliver: Deliver) -> None:
        """Hand every message to `deliver` until cancelled or until nobody can write any more."""

    @abstractmethod
    async def send(self, message: Outbound) -> None:
        """Return when the platform has it; an exception means that it was not sent."""

    def attends(self, message: Outbound) -> bool:
        """Return true if somebody can receive it now; until then it waits in the outbox."""
        return True

    def parts(self, text: str) -> tuple[str, ...]:
        """Split the text into pieces that the platform accepts; each is sent by itself."""
        return (text,)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        """Show an answer that is still growing; channels that cannot do that ignore it."""

    async def break_off(self, inbound: Inbound) -> None:
        """Mark what was shown of an answer: the message gets none."""

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask for approval of one tool call; a channel that cannot ask returns `NONE`."""
        return Answer.NONE

    async def inquire(self, address: Address, question: str) -> str | None:
        """Ask for words, where the channel reads no messages while a turn is running.

        None where the question is sent as any text, and the answer comes as a message.

        Raises:
            ChannelError: nobody can be asked.
        """
        return None

    async def typing(self, inbound: Inbound) -> None:
        """Show that an answer is being worked on, for `abilities.typing_every_s`."""

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        """Put a sign on the person's message."""

    async def aclose(self) -> None:
        """Release what outlives `listen`."""
