import json
from collections.abc import Sequence

import pytest

from agent.errors import BadArguments, StorageFull
from agent.messages import Effect
from agent.tools.send_message import (
    MAX_TEXT_CHARS,
    Addressee,
    NobodyPaired,
    SendArguments,
    SendMessageTool,
)
from tests.fakes.workspace import used

ANNA = Addressee("Anna", "telegram", "4711")


class PairedPeople:
    """Those that a test let in."""

    def __init__(self, *people: Addressee) -> None:
        self.people = list(people)

    def everyone(self) -> Sequence[Addressee]:
        return self.people


class KeptPost:
    """Keeps what is sent; `is_there` says whether the channel is."""

    def __init__(self, *, is_there: bool = True) -> None:
        self.is_there = is_there
        self.sent: list[tuple[Addressee, str]] = []

    async def __call__(self, to: Addressee, text: str) -> bool:
        self.sent.append((to, text))
        return self.is_there


class FullPost(KeptPost):
    """Has no room left."""

    async def __call__(self, to: Addressee, text: str) -> bool:
        raise StorageFull("no space left")


@pytest.mark.parametrize(
    ("is_there", "state"), [(True, "on its way"), (False, "kept until telegram is connected")]
)
async def test_a_paired_person_is_written_to(*, is_there: bool, state: str) -> None:
    post = KeptPost(is_there=is_there)
    told = await used(SendMessageTool(PairedPeople(ANNA), post), to=" anna ", text="tea is ready")
    assert post.sent == [(ANNA, "tea is ready")]
    assert json.loads(told.text) == {"to": "Anna", "channel": "telegram", "state": state}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"to": "Bert", "text": "x"}, "nobody is called 'Bert'; there are Anna"),
        ({"to": "4711", "text": "x"}, "nobody is called"),
        ({"to": "Anna", "text": ""}, "text"),
        ({"to": "Anna", "text": "x" * (MAX_TEXT_CHARS + 1)}, "text"),
        ({"to": "Anna", "text": "x", "channel": "signal"}, "unknown field"),
        ({"to": "Anna", "text": "x", "approved": True}, "unknown field"),
    ],
)
def test_nobody_else_and_nothing_else(arguments: dict[str, object], said: str) -> None:
    tool = SendMessageTool(PairedPeople(ANNA), KeptPost())
    with pytest.raises(BadArguments, match=said):
        tool.parse(json.dumps(arguments))


def test_where_nobody_is_paired_it_says_so() -> None:
    with pytest.raises(BadArguments, match="nobody is paired"):
        SendMessageTool(NobodyPaired(), KeptPost()).parse('{"to":"Anna","text":"x"}')


async def test_what_cannot_be_kept_is_not_said_to_be_sent() -> None:
    with pytest.raises(StorageFull):
        await used(SendMessageTool(PairedPeople(ANNA), FullPost()), to="Anna", text="x")


def test_it_sends_something_out_and_the_question_says_where_to() -> None:
    tool = SendMessageTool(PairedPeople(ANNA), KeptPost())
    assert tool.effect is Effect.NETWORK
    assert tool.in_words(SendArguments("Anna", "x")) == "write to Anna on telegram (4711)"


def test_a_yes_is_for_this_chat_whatever_the_name_leads_to_by_then() -> None:
    people = PairedPeople(ANNA)
    tool = SendMessageTool(people, KeptPost())
    before = tool.binds_to(SendArguments("Anna", "x")), tool.always_for(SendArguments("Anna", "x"))
    people.people = [Addressee("Anna", "telegram", "666")]
    after = tool.binds_to(SendArguments("Anna", "x")), tool.always_for(SendArguments("Anna", "x"))
    assert before[0].environment != after[0].environment
    assert before[1].fixed != after[1].fixed
