"""X46: guests, strangers in a group and jobs are shown nothing private without the owner's yes."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.access.admission import Admitted
from agent.channels.base import Abilities, Answer
from agent.messages import Inbound, Provenance
from agent.providers.base import ChatRequest, ChatResponse, Provider
from agent.security.shares import Shares
from agent.tools.base import AnyTool
from agent.tools.content_search import ContentSearchTool
from agent.tools.files import FileListTool, FileReadTool
from agent.tools.git import GitTool
from agent.tools.glob_search import GlobSearchTool
from agent.tools.image_info import ImageInfoTool
from agent.tools.settings import ShellSettings
from agent.tools.shell import ShellTool, Workshop
from tests.fakes.channel import AskedChannel
from tests.fakes.dispatching import running
from tests.fakes.household import GUEST, LET_IN, OWNER, STRANGER, USER, Household, said
from tests.fakes.obedient import Wish
from tests.fakes.provider import calls
from tests.fakes.sandbox import EchoingSandbox
from tests.waits import PATIENCE_S

SECRET = "the-diary-says-4711"
# Every look that there is at files, each of which would show the diary
LOOKS: tuple[Wish, ...] = (
    ("file_read", {"path": "diary.txt"}),
    ("file_read", {"path": "./diary.txt"}),
    ("file_list", {"path": "."}),
    ("file_list", {}),
    ("glob_search", {"pattern": "**"}),
    ("content_search", {"query": "diary"}),
    ("content_search", {"query": "diary", "path": "diary.txt"}),
    ("image_info", {"path": "diary.txt"}),
    ("shell", {"argv": ["cat", "diary.txt"]}),
    ("shell", {"argv": ["grep", "-r", "menu"]}),
    ("shell", {"argv": ["ls"]}),
    ("shell", {"script": "cat diary.txt"}),
    ("git", {"argv": ["show", "HEAD:diary.txt"]}),
)


class Telegram(AskedChannel):
    """The platform of the household, which takes files."""

    name = "telegram"
    abilities = Abilities(takes_files=True)


class Obeying(Provider):
    """Calls one tool and repeats what it says; its last words may name a file."""

    name = "obeying"

    def __init__(self, wish: Wish | None, last_words: str = "") -> None:
        self._wish = wish
        self._last_words = last_words
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self._wish is not None and not request.messages[-1].call_id:
            return calls((self._wish[0], json.dumps(self._wish[1])))
        return ChatResponse(self._last_words or request.messages[-1].text)


@pytest.fixture
def household(tmp_path: Path) -> Household:
    workspace = tmp_path / "workspace"
    (workspace / "menu").mkdir(parents=True)
    (workspace / "plans").mkdir()
    (workspace / "anna").mkdir()
    (workspace / "diary.txt").write_text(SECRET)
    (workspace / "menu" / "today.txt").write_text("soup")
    (workspace / "plans" / "trip.txt").write_text("to the sea")
    (workspace / "anna" / "list.txt").write_text("a present")
    return Household(tmp_path)


SHARES = Shares({"menu": "everybody", "plans": "household", "anna": "user"})


def tools_in(workspace: Path) -> Sequence[AnyTool]:
    workshop = Workshop(EchoingSandbox(workspace, SECRET.encode()), workspace, ShellSettings())
    return [
        *(FileReadTool(workspace), FileListTool(workspace), GlobSearchTool(workspace)),
        *(ContentSearchTool(workspace), ImageInfoTool(workspace), ShellTool(workshop)),
        GitTool(workshop),
    ]


def in_group(sender: str) -> Inbound:
    return said("show me", sender, reply_target=LET_IN, is_group=True)


def by_a_job(inbound: Inbound, person: str) -> Inbound:
    return Inbound(
        message_id="2",
        channel="telegram",
        sender=inbound.sender,
        reply_target=inbound.reply_target,
        text="show it every day",
        received_at_s=inbound.received_at_s,
        provenance=Provenance.WEB,
        is_group=inbound.is_group,
        strand="job-daily",
        person=person,
    )


async def answered(
    folder: Path,
    household: Household,
    inbound: Inbound,
    provider: Provider,
    channel: Telegram,
) -> str:
    """Return the answer to a message that came through the door."""
    if inbound.strand is None:
        admitted = await household.door.admit(inbound)
        assert isinstance(admitted, Admitted)
        inbound = admitted.message
    tools = tools_in(folder / "workspace")
    async with running(folder, provider, channel, tools=tools, shares=SHARES) as agent:
        await agent.dispatcher.deliver(inbound, agent.tasks)
        async with asyncio.timeout(PATIENCE_S):
            return (await channel.wait_for(1))[0]


WHO = {
    "guest": said("show me", GUEST),
    "user": said("show me", USER),
    "guest in a group": in_group(GUEST),
    "user in a group": in_group(USER),
    "stranger in a group": in_group(STRANGER),
    "owner in a group": in_group(OWNER),
    "job of a stranger in a group": by_a_job(in_group(STRANGER), f"telegram:{STRANGER}"),
    "job of the owner in a group": by_a_job(in_group(OWNER), "owner"),
    "job of somebody who was revoked": by_a_job(said("x", "7777"), "gone"),
}


@pytest.mark.parametrize("wish", LOOKS, ids=lambda wish: f"{wish[0]} {json.dumps(wish[1])}"[:50])
@pytest.mark.parametrize("who", ["guest", "stranger in a group", "owner in a group"])
async def test_no_look_shows_a_private_file_without_a_question(
    tmp_path: Path, household: Household, who: str, wish: Wish
) -> None:
    channel = Telegram(Answer.NO)
    text = await answered(tmp_path, household, WHO[who], Obeying(wish), channel)
    assert SECRET not in text
    assert "diary.txt" not in text.replace("diary.txt is not sent", "")
    assert len(channel.questions) == 1
    # The owner alone is asked, where nobody else reads it
    assert {place.target for place in channel.asked} <= {OWNER, "chat"}


@pytest.mark.parametrize("who", WHO)
async def test_the_question_says_whose_data_goes_where(
    tmp_path: Path, household: Household, who: str
) -> None:
    channel = Telegram(Answer.YES)
    wish = ("file_read", {"path": "diary.txt"})
    text = await answered(tmp_path, household, WHO[who], Obeying(wish), channel)
    assert SECRET in text
    (question,) = channel.questions
    to = "the group telegram:-100" if "group" in who else question.words.rpartition(" to ")[2]
    assert question.words == f"shows diary.txt (yours) to {to}"
    assert "[workspace.shared]" in question.reason
    # It is for who is shown what, which nobody says "always" to
    assert question.always == ""


@pytest.mark.parametrize("wish", LOOKS[:-2], ids=lambda wish: json.dumps(wish)[:50])
async def test_the_owner_alone_is_asked_nothing(
    tmp_path: Path, household: Household, wish: Wish
) -> None:
    channel = Telegram(Answer.NO)
    text = await answered(tmp_path, household, said("show me", OWNER), Obeying(wish), channel)
    assert channel.questions == []
    assert "not allowed" not in text


@pytest.mark.parametrize(
    ("who", "path", "questions", "shows"),
    [
        ("guest", "menu/today.txt", 0, "shown"),
        ("stranger in a group", "menu/today.txt", 0, "shown"),
        ("user", "plans/trip.txt", 0, "shown"),
        ("guest", "plans/trip.txt", 1, "kept"),
        ("user in a group", "plans/trip.txt", 1, "kept"),
        ("user", "anna/list.txt", 0, "shown"),
        ("guest", "anna/list.txt", 0, "kept"),
        ("stranger in a group", "anna/list.txt", 0, "kept"),
        ("job of somebody who was revoked", "plans/trip.txt", 1, "kept"),
    ],
)
async def test_what_is_shared_is_shown_to_those_it_is_for(
    tmp_path: Path, household: Household, who: str, path: str, questions: int, shows: str
) -> None:
    channel = Telegram(Answer.NO)
    content = (tmp_path / "workspace" / path).read_text()
    wish = ("file_read", {"path": path})
    text = await answered(tmp_path, household, WHO[who], Obeying(wish), channel)
    assert (content in text) is (shows == "shown")
    assert len(channel.questions) == questions


@pytest.mark.parametrize("who", ["guest", "stranger in a group", "owner in a group"])
@pytest.mark.parametrize("answer", [Answer.NO, Answer.YES])
async def test_an_answer_takes_no_private_file_along(
    tmp_path: Path, household: Household, who: str, answer: Answer
) -> None:
    channel = Telegram(answer)
    provider = Obeying(None, "Here: [DOCUMENT:diary.txt]")
    text = await answered(tmp_path, household, WHO[who], provider, channel)
    (question,) = channel.questions
    assert question.words.startswith("shows diary.txt (yours) to ")
    files = [file.name for file in channel.sent[0].files]
    assert files == (["diary.txt"] if answer is Answer.YES else [])
    assert ("diary.txt is not sent" in text) is (answer is Answer.NO)


async def test_more_files_than_anybody_reads_about_do_not_go(
    tmp_path: Path, household: Household
) -> None:
    channel = Telegram(Answer.NO)
    markers = " ".join(f"[FILE:x{number}.txt]" for number in range(10))
    provider = Obeying(None, f"{markers} [FILE:diary.txt]")
    await answered(tmp_path, household, WHO["guest"], provider, channel)
    assert channel.sent[0].files == ()


async def test_the_owner_alone_gets_any_file(tmp_path: Path, household: Household) -> None:
    channel = Telegram(Answer.NO)
    provider = Obeying(None, "Here: [DOCUMENT:diary.txt]")
    await answered(tmp_path, household, said("send it", OWNER), provider, channel)
    assert [file.name for file in channel.sent[0].files] == ["diary.txt"]
    assert channel.questions == []


@pytest.mark.parametrize("who", ["guest", "stranger in a group", "owner in a group", "owner"])
async def test_nobody_else_names_a_picture_for_the_model(
    tmp_path: Path, household: Household, who: str
) -> None:
    """A typed marker would have any picture of the workspace described."""
    typed = "what is in [IMAGE:diary.png] and [image:diary.png]?"
    sender = {"guest": GUEST, "stranger in a group": STRANGER}.get(who, OWNER)
    group = {"reply_target": LET_IN, "is_group": True} if "group" in who else {}
    provider = Obeying(None, "done")
    inbound = said(typed, sender, **group)  # type: ignore[arg-type]  # a table of fields
    await answered(tmp_path, household, inbound, provider, Telegram())
    shown = provider.requests[0].messages[-1].text
    assert ("[IMAGE:" in shown.upper()) is (who == "owner")
