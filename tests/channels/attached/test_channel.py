import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.channels.attached import frames, session
from agent.channels.attached.channel import GRACE_S, MAX_UNANSWERED, AgentSide, AttachedTerminals
from agent.channels.base import Answer, Question
from agent.errors import ChannelRefused, ChannelUnavailable, StorageFull
from agent.messages import Address, Inbound, Outbound, Provenance
from tests.fakes.attached_terminal import AttachedTerminal
from tests.fakes.clock import HeldClock
from tests.fakes.somebody import somebody
from tests.waits import wait_until

MEMBER_UID, GROUP = 54322, 54323


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that other users get into; pytest's own folders are closed to them."""
    with tempfile.TemporaryDirectory(prefix="barnacle-open-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@dataclass
class Device:
    """The agent behind the terminals, played by a test."""

    terminals: AttachedTerminals
    clock: HeldClock
    path: Path
    received: list[Inbound] = field(default_factory=list)
    caught_up: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    refuses: bool = False
    settled: bool = False
    # As a stop is that stopped something
    ends_at_once: bool = False
    knows_nothing: bool = False

    async def deliver(self, inbound: Inbound) -> None:
        if self.refuses:
            raise StorageFull("there is no room")
        self.received.append(inbound)
        self.settled = self.settled or self.ends_at_once

    async def catch_up(self, target: str) -> None:
        self.caught_up.append(target)

    async def is_settled(self, _message_id: str) -> bool:
        if self.knows_nothing:
            raise StorageFull("there is nothing to look at")
        return self.settled

    async def attached(self, *, plain: bool = False) -> AttachedTerminal:
        terminal = AttachedTerminal(self.path)
        await terminal.attach(plain=plain)
        return terminal

    async def asked_by(self, terminal: AttachedTerminal, text: str = "do it") -> Inbound:
        """A message that was taken."""
        await terminal.say(frames.SayFrame(f"{len(self.received)}", text))
        assert isinstance(await terminal.hear(), frames.AcceptedFrame)
        return self.received[-1]

    async def gone(self, terminal: AttachedTerminal) -> None:
        """Return when the agent has noticed."""
        before = len(self.terminals._sessions)
        terminal.close()
        await wait_until(lambda: len(self.terminals._sessions) != before)


@asynccontextmanager
async def device(folder: Path) -> AsyncIterator[Device]:
    clock, path = HeldClock(), folder / "chat.sock"
    made = Device(AttachedTerminals(path, folder, clock), clock, path)
    made.terminals.open(
        AgentSide(lambda: "all is well", made.stopped.append, made.catch_up, made.is_settled)
    )
    listening = asyncio.ensure_future(made.terminals.listen(made.deliver))
    try:
        await wait_until(path.exists)
        yield made
    finally:
        listening.cancel()
        await asyncio.wait([listening])


def answer_to(inbound: Inbound | None, text: str = "done", target: str = "local") -> Outbound:
    return Outbound(7, "terminal", target, text, inbound.message_id if inbound else "")


async def test_the_owner_is_known_by_the_machine(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        inbound = await agent.asked_by(terminal, "turn it on")
        assert (inbound.sender, inbound.text) == ("owner", "turn it on")
        assert inbound.provenance is Provenance.OWNER
        assert inbound.conversation == "terminal_local_owner"
        assert agent.caught_up == ["local"]
        terminal.close()


async def test_an_answer_goes_to_the_terminal_that_asked_and_is_there_when_it_is_shown(
    tmp_path: Path,
) -> None:
    async with device(tmp_path) as agent:
        asker, other = await agent.attached(), await agent.attached()
        inbound = await agent.asked_by(asker)
        sending = asyncio.ensure_future(agent.terminals.send(answer_to(inbound)))
        answer = await asker.hear()
        assert isinstance(answer, frames.MessageFrame)
        assert (answer.text, answer.id, answer.outbox_id) == ("done", "0", 7)
        assert not sending.done()
        await asker.say(frames.ShownFrame(answer.number + 1))
        await asker.say(frames.ShownFrame(answer.number))
        await sending
        sending = asyncio.ensure_future(agent.terminals.send(answer_to(None, "news")))
        assert [(await one.show()).text for one in (asker, other)] == ["news", "news"]
        await sending
        for terminal in (asker, other):
            terminal.close()


async def test_what_nobody_shows_has_not_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SHOWN_TIMEOUT_S", 0.05)
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        inbound = await agent.asked_by(terminal)
        assert agent.terminals.attends(answer_to(inbound))
        with pytest.raises(ChannelUnavailable):
            await agent.terminals.send(answer_to(inbound))
        assert isinstance(await terminal.hear(), frames.MessageFrame)
        assert await terminal.hear() is None
        assert not agent.terminals.attends(answer_to(inbound))
        terminal.close()


async def test_whoever_left_is_answered_at_another_terminal_of_theirs(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        asker, other = await agent.attached(), await agent.attached()
        inbound = await agent.asked_by(asker)
        await agent.gone(asker)
        assert agent.terminals.attends(answer_to(inbound))
        sending = asyncio.ensure_future(agent.terminals.send(answer_to(inbound)))
        assert (await other.show()).text == "done"
        await sending
        await agent.gone(other)
        assert not agent.terminals.attends(answer_to(None))


async def test_after_a_restart_the_terminal_that_asked_has_time_to_come_back(
    tmp_path: Path,
) -> None:
    async with device(tmp_path) as agent:
        other = await agent.attached()
        of_before = Outbound(7, "terminal", "local", "done", "local:of-before")
        assert not agent.terminals.attends(of_before)
        asker = await agent.attached()
        await asker.say(frames.SayFrame("of-before", "do it"))
        await asker.hear()
        assert agent.terminals.attends(of_before)
        of_another = Outbound(8, "terminal", "local", "done", "local:of-another")
        assert not agent.terminals.attends(of_another)
        agent.clock.advance(GRACE_S)
        assert agent.terminals.attends(of_another)
        for terminal in (asker, other):
            terminal.close()


async def test_a_draft_is_sent_as_what_is_new_of_it(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        asker, other = await agent.attached(), await agent.attached()
        inbound = await agent.asked_by(asker)
        for text in ("It ", "It is", "No"):
            await agent.terminals.draft(inbound, text)
            await asker.hear()
        assert asker.heard[-3:] == [
            frames.DraftFrame("0", 0, "It "),
            frames.DraftFrame("0", 3, "is"),
            frames.DraftFrame("0", 0, "No"),
        ]
        for text in ("a", "ab", "abc"):
            await agent.terminals.draft(inbound, text)
        assert await asker.hear() == frames.DraftFrame("0", 0, "abc")
        assert len(other.heard) == 1
        for terminal in (asker, other):
            terminal.close()


@pytest.mark.parametrize(
    ("said", "answer"),
    [("yes", Answer.YES), ("no", Answer.NO), ("always", Answer.ALWAYS), ("what", Answer.NONE)],
)
async def test_a_question_takes_the_word_of_the_terminal_that_shows_it(
    tmp_path: Path, said: str, answer: Answer
) -> None:
    async with device(tmp_path) as agent:
        asker, other = await agent.attached(), await agent.attached()
        inbound = await agent.asked_by(asker)
        question = Question("pump", '{"on":true}', "it may hurt", always="the pump")
        asking = asyncio.ensure_future(agent.terminals.ask(inbound.address, question))
        shown = await asker.hear()
        assert isinstance(shown, frames.ApprovalFrame)
        assert (shown.tool, shown.arguments_json) == ("pump", '{"on":true}')
        await other.say(frames.AnswerFrame(shown.question, "yes"))
        await asker.say(frames.AnswerFrame(shown.question + 1, "yes"))
        # What both said is with the agent when it has answered this
        for terminal in (other, asker):
            await terminal.say(frames.SayFrame("after", "/help"))
            await terminal.hear()
        assert not asking.done()
        await asker.say(frames.AnswerFrame(shown.question, said))
        assert await asking is answer
        for terminal in (asker, other):
            terminal.close()


async def test_a_question_that_is_over_is_withdrawn(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        inbound = await agent.asked_by(terminal)
        asking = asyncio.ensure_future(
            agent.terminals.ask(inbound.address, Question("pump", "{}", "it may hurt"))
        )
        shown = await terminal.hear()
        assert isinstance(shown, frames.ApprovalFrame)
        asking.cancel()
        assert await terminal.hear() == frames.WithdrawFrame(shown.question)
        terminal.close()


async def test_a_pipe_is_asked_nothing(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        pipe, person = await agent.attached(plain=True), await agent.attached()
        inbound = await agent.asked_by(pipe)
        question = Question("pump", "{}", "it may hurt")
        assert await agent.terminals.ask(inbound.address, question) is Answer.NONE
        with pytest.raises(ChannelRefused):
            await agent.terminals.inquire(inbound.address, "which one?")
        for terminal in (pipe, person):
            terminal.close()


async def test_a_question_in_words_takes_the_persons_own(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        inbound = await agent.asked_by(terminal)
        for said in ("the left one", None):
            asking = asyncio.ensure_future(agent.terminals.inquire(inbound.address, "which one?"))
            shown = await terminal.hear()
            assert isinstance(shown, frames.QuestionFrame)
            await terminal.say(frames.AnswerFrame(shown.question, said))
            if said is not None:
                assert await asking == said
        with pytest.raises(ChannelRefused, match="left"):
            await asking
        terminal.close()


async def test_nobody_is_waited_for_long_with_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.channels.attached.approvals.AWAY_S", 0.01)
    async with device(tmp_path) as agent:
        nowhere = Address("terminal", "local", "owner")
        question = Question("pump", "{}", "it may hurt")
        assert await agent.terminals.ask(nowhere, question) is Answer.NONE


async def test_a_message_that_is_not_taken_is_given_back_with_the_reason(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        agent.refuses = True
        await terminal.say(frames.SayFrame("1", "x"))
        assert await terminal.hear() == frames.RefusedFrame("1", "there is no room")
        agent.refuses, agent.settled = False, True
        await terminal.say(frames.SayFrame("1", "x"))
        refused = await terminal.hear()
        assert isinstance(refused, frames.RefusedFrame)
        assert "dealt with" in refused.why
        terminal.close()


async def test_a_message_that_ends_at_once_is_taken(tmp_path: Path) -> None:
    """Only what had ended before it came again was dealt with."""
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        agent.ends_at_once = True
        assert (await agent.asked_by(terminal, "/stop")).text == "/stop"
        terminal.close()


async def test_what_cannot_be_looked_up_is_taken_all_the_same(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        agent.knows_nothing = True
        assert (await agent.asked_by(terminal, "/estop")).text == "/estop"
        terminal.close()


async def test_a_program_gone_wild_is_told_to_wait(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        for number in range(MAX_UNANSWERED + 1):
            await terminal.say(frames.SayFrame(str(number), "x"))
        came = [await terminal.hear() for _ in range(MAX_UNANSWERED + 1)]
        assert sum(isinstance(frame, frames.AcceptedFrame) for frame in came) == MAX_UNANSWERED
        assert frames.RefusedFrame(str(MAX_UNANSWERED), "wait for the answers first") in came
        terminal.close()


async def test_an_emergency_stop_waits_for_no_answer(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        for _ in range(MAX_UNANSWERED):
            await agent.asked_by(terminal, "turn it on")
        stop = await agent.asked_by(terminal, "/estop")
        assert stop.text == "/estop"
        terminal.close()


async def test_stopping_is_for_what_this_terminal_waits_for(tmp_path: Path) -> None:
    async with device(tmp_path) as agent:
        asker, other = await agent.attached(), await agent.attached()
        await agent.asked_by(asker)
        for terminal in (other, asker):
            await terminal.say(frames.StopFrame())
            await agent.asked_by(terminal)
        assert agent.stopped == ["terminal_local_owner"]
        for terminal in (asker, other):
            terminal.close()


async def test_a_terminal_that_takes_nothing_is_let_go_with_little_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_WAITING_BYTES", 1_000_000)
    async with device(tmp_path) as agent:
        deaf, other = await agent.attached(), await agent.attached()
        inbound = await agent.asked_by(deaf)
        sends = [
            asyncio.ensure_future(agent.terminals.send(answer_to(inbound, "x" * 200_000)))
            for _ in range(8)
        ]
        done, _ = await asyncio.wait(sends, timeout=5.0)
        assert len(done) == len(sends)
        assert all(isinstance(one.exception(), ChannelUnavailable) for one in done)
        assert isinstance((await agent.asked_by(other)), Inbound)
        for terminal in (deaf, other):
            terminal.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_people_of_the_group_talk_to_it_and_are_not_its_owner(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "group_id", lambda: GROUP)
    async with device(open_folder) as agent:
        agent.path.chmod(0o666)
        owner = await agent.attached()
        with somebody(MEMBER_UID, GROUP):
            member = AttachedTerminal(agent.path)
        await member.attach()
        inbound = await agent.asked_by(member)
        assert (inbound.sender, inbound.reply_target) == (f"uid-{MEMBER_UID}", f"uid-{MEMBER_UID}")
        assert inbound.provenance is Provenance.USER
        assert not agent.terminals.attends(answer_to(None, target="uid-1"))
        sending = asyncio.ensure_future(agent.terminals.send(answer_to(None, "for the owner")))
        assert (await owner.show()).text == "for the owner"
        await sending
        # Of what the owner is asked nothing reaches anybody else
        await agent.asked_by(owner)
        assert len(member.heard) == 2
        for terminal in (owner, member):
            terminal.close()
