import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.approvals.records import CallCircumstances, DecisionRecords, texts_of
from agent.channels.base import Answer, Question
from agent.config import Secret
from agent.errors import StorageFull
from agent.messages import Effect, Provenance, ToolCall
from agent.messaging.journal import open_agent_db
from agent.security.act import call_hash
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.security.audit import Audit, lines_of
from agent.security.audit_chain import Value, link_of, problems, untied
from agent.security.estop import EmergencyStop
from agent.security.policy import ActLimits, Autonomy, Decision, Policy, PolicyRule, Verdict
from agent.security.redact import Redactor
from agent.storage.worker import DatabaseWorker
from agent.tools.base import Arguments
from tests.fakes.clock import SteppedClock
from tests.fakes.said import tool_result

CANARY = "canary-5cc1f0a9"
CALL = ToolCall("1", "board_gpio_write", '{"pin":"pump","value":"on"}')
AROUND = CallCircumstances("owner", "chat_1", "https://example.org", "turn1", {"pin": "pump"})
OWNER, WEB = Provenance.OWNER, Provenance.WEB


class Desk:
    """A gate with records, and an owner who says yes unless told otherwise."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self.folder, self.clock = folder, SteppedClock()
        self.journal: DatabaseWorker = open_agent_db(folder / "agent.db")
        redact = Redactor([Secret(CANARY)]).redact
        audit = Audit(folder / "audit", redact, self.clock)
        self.records = DecisionRecords(audit, self.journal, self.clock)
        self.stop = EmergencyStop(folder)
        self.approvals = StandingApprovals(folder / "standing.json", self.clock)
        self.gate = Gate(policy, self.approvals, self.stop, records=self.records)
        self.asked: list[Question] = []
        self.answer = Answer.YES

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer

    async def admit(
        self,
        effect: Effect = Effect.ACTUATE,
        provenance: Provenance = OWNER,
        call: ToolCall = CALL,
        turn: str = "turn1",
    ) -> Decision:
        around = CallCircumstances("owner", "chat_1", "https://example.org", turn, {"pin": "pump"})
        return await self.gate.admit(call, effect, provenance, self.ask, around)

    def rows(self) -> list[dict[str, Value]]:
        found = [untied(line)[0] for _, line in lines_of(self.folder / "audit")]
        assert list(problems(lines_of(self.folder / "audit"))) == []
        return [row for row in found if row["kind"] != "begun"]


@pytest.fixture
def policy() -> Policy:
    return Policy(Autonomy.SUPERVISED)


@pytest.fixture
async def desk(tmp_path: Path, policy: Policy) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, policy)
    yield desk
    await desk.journal.aclose()


class TestRows:
    async def test_an_allowed_call_is_one_row_with_everything_about_it(self, desk: Desk) -> None:
        await desk.admit()
        (row,) = desk.rows()
        assert row | {"at_s": 0, "prev": "", "n": 0, "reason": ""} == {
            "n": 0, "at_s": 0, "prev": "", "reason": "",
            "kind": "decision", "verdict": "allow", "rule": "owners-word",
            "tool": "board_gpio_write", "effect": "actuate", "provenance": "owner",
            "source": "https://example.org", "person": "owner", "conversation": "chat_1",
            "turn": "turn1", "arguments": CALL.arguments_json,
            "call": call_hash(CALL.name, CALL.arguments_json),
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("answer", "last"),
        [(Answer.YES, ("allow", "owner-yes")), (Answer.NO, ("deny", "owner-no"))],
    )
    async def test_a_question_is_one_row_and_its_answer_another(
        self, desk: Desk, answer: Answer, last: tuple[str, str]
    ) -> None:
        desk.answer = answer
        await desk.admit(Effect.HAZARD)
        told = [(row["verdict"], row["rule"]) for row in desk.rows()]
        assert told == [("ask", "supervised-hazard"), last]

    async def test_looks_refusals_and_stops_are_rows_too(self, desk: Desk) -> None:
        await desk.admit(Effect.READ, WEB)
        await desk.stop.engage("by Ada")
        await desk.admit()
        assert [row["rule"] for row in desk.rows()] == ["read", "estop"]

    @pytest.mark.parametrize(
        ("effect", "is_done", "named"),
        [
            (Effect.ACTUATE, True, "read_back"),
            (Effect.HAZARD, True, "read_back"),
            (Effect.WRITE, True, "result"),
            (Effect.ACTUATE, False, "result"),
        ],
    )
    async def test_what_came_of_an_effect_is_a_row(
        self,
        desk: Desk,
        effect: Effect,
        is_done: bool,  # noqa: FBT001 - a case of a table
        named: str,
    ) -> None:
        result = tool_result(success=is_done, text='{"pin":"pump","value":"on"}')
        await desk.gate.came_of(CALL, effect, OWNER, AROUND, result)
        (row,) = desk.rows()
        assert (row["kind"], row["ok"], row[named]) == ("effect", is_done, result.text)

    async def test_what_was_looked_at_is_not(self, desk: Desk) -> None:
        result = tool_result(success=True, text="secret diary")
        await desk.gate.came_of(CALL, Effect.READ, OWNER, AROUND, result)
        assert desk.rows() == []

    async def test_no_secret_is_in_any_row(self, desk: Desk) -> None:
        hidden = json.dumps({"url": f"https://x:{CANARY}@example.org", "key": CANARY})
        call = ToolCall("1", "http_request", hidden)
        desk.answer = Answer.NO
        await desk.admit(Effect.NETWORK, call=call)
        result = tool_result(success=False, text=f"401: {CANARY} is wrong")
        around = CallCircumstances("owner", "c", f"https://example.org/?k={CANARY}", "t", {})
        await desk.gate.came_of(call, Effect.NETWORK, OWNER, around, result)
        assert len(desk.rows()) == 3
        for path in (desk.folder / "audit").iterdir():
            assert CANARY.encode() not in path.read_bytes()

    async def test_what_a_request_carries_is_in_no_row(self, desk: Desk) -> None:
        carried = {"url": "https://example.org/", "headers": {"X-Token": "k3y"}, "body": "k3y"}
        call = ToolCall("1", "http_request", json.dumps(carried))
        await desk.admit(Effect.NETWORK, call=call)
        asked, allowed = desk.rows()
        assert "example.org" in str(asked["arguments"])
        assert "k3y" not in f"{asked}{allowed}"
        # The owner who was asked has seen every byte
        assert "k3y" in desk.asked[0].arguments_json

    async def test_the_last_row_before_an_effect_is_anchored(self, desk: Desk) -> None:
        await desk.admit()
        (row,) = desk.rows()
        anchor = await desk.journal.look(
            lambda db: db.execute("SELECT link FROM audit_anchor").fetchone()
        )
        assert link_of(anchor[0]).number == row["n"]

    async def test_the_log_names_it_too(self, desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO")
        await desk.admit()
        (row,) = desk.rows()
        assert f"row={row['n']}:" in caplog.text


class TestLimits:
    @pytest.fixture
    def policy(self) -> Policy:
        pump = PolicyRule("pump", "board_*", {"pin": "pump"}, None, ActLimits(per_hour=3))
        return Policy(Autonomy.SUPERVISED, (pump,), ActLimits(per_turn=2))

    async def test_beyond_one_of_a_turn_the_owner_is_asked(self, desk: Desk) -> None:
        for _ in range(2):
            await desk.admit()
        assert desk.asked == []
        await desk.admit()
        assert "the limit per turn is 2" in desk.asked[0].reason
        await desk.admit(turn="another")
        assert "agent.rules.pump.per_hour is 3" in desk.asked[1].reason

    async def test_they_outlive_a_restart(self, tmp_path: Path, policy: Policy) -> None:
        before = Desk(tmp_path, policy)
        for turn in ("a", "b", "c"):
            await before.admit(turn=turn)
        await before.journal.aclose()
        again = Desk(tmp_path, policy)
        await again.admit(turn="d")
        assert len(again.asked) == 1
        await again.journal.aclose()

    async def test_an_hour_later_it_goes_on(self, desk: Desk) -> None:
        for turn in ("a", "b", "c"):
            await desk.admit(turn=turn)
        desk.clock.advance(3600)
        await desk.admit(turn="d")
        assert desk.asked == []

    async def test_always_is_no_answer_to_how_often(self, desk: Desk) -> None:
        call = call_hash(CALL.name, CALL.arguments_json)
        standing = StandingApproval(
            call=call, tool=CALL.name, arguments="", until_s=desk.approvals.end_s()
        )
        desk.approvals.add(standing)
        for _ in range(3):
            await desk.admit()
        assert len(desk.asked) == 1

    async def test_calls_at_the_same_time_count_each_other(self, desk: Desk) -> None:
        desk.answer = Answer.NO
        decisions = await asyncio.gather(*(desk.admit() for _ in range(6)))
        assert [one.verdict for one in decisions].count(Verdict.ALLOW) == 2

    async def test_what_was_refused_and_what_only_looked_does_not_count(self, desk: Desk) -> None:
        desk.answer = Answer.NO
        for _ in range(4):
            await desk.admit(Effect.HAZARD)
            await desk.admit(Effect.READ)
        await desk.admit()
        assert len(desk.asked) == 4


class TestNoRoom:
    @pytest.fixture(autouse=True)
    async def full(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """The log cannot grow from here on."""
        await desk.admit(Effect.READ)

        def no_room(_handle: int, _content: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("agent.security.audit.os.write", no_room)

    async def test_an_effect_that_cannot_be_recorded_is_refused(self, desk: Desk) -> None:
        decision = await desk.admit()
        assert (decision.verdict, decision.rule) == (Verdict.DENY, "unrecorded")
        assert "No space left" in decision.reason
        counted = await desk.records.counters("turn1")
        assert counted == {}

    async def test_the_owners_yes_does_not_help(self, desk: Desk) -> None:
        assert (await desk.admit(Effect.HAZARD)).rule == "unrecorded"

    async def test_looking_goes_on_and_a_refusal_stays_one(
        self, desk: Desk, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert (await desk.admit(Effect.READ)).verdict is Verdict.ALLOW
        await desk.stop.engage("by Ada")
        assert (await desk.admit()).rule == "estop"
        assert "audit: decision not recorded" in caplog.text

    async def test_what_happened_already_is_told_to_the_log(
        self, desk: Desk, caplog: pytest.LogCaptureFixture
    ) -> None:
        result = tool_result(success=True, text="on")
        await desk.gate.came_of(CALL, Effect.ACTUATE, OWNER, AROUND, result)
        assert "audit: result not recorded (tool=board_gpio_write" in caplog.text


@pytest.mark.parametrize("failing", ["look", "transact"])
async def test_an_effect_that_cannot_be_counted_is_refused(
    desk: Desk, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_room(_job: object) -> None:
        raise StorageFull("agent.db was not written")

    monkeypatch.setattr(desk.journal, failing, no_room)
    assert (await desk.admit()).rule == "unrecorded"
    assert (await desk.admit(Effect.READ)).verdict is Verdict.ALLOW


async def test_the_question_names_what_it_comes_from(desk: Desk) -> None:
    await desk.admit(provenance=WEB)
    await desk.admit(Effect.HAZARD)
    assert "(from https://example.org)" in desk.asked[0].reason
    assert "example.org" not in desk.asked[1].reason


def test_arguments_are_texts_for_the_rules() -> None:
    class Made(Arguments, frozen=True):
        pin: str
        is_on: bool
        levels: tuple[float, ...]
        note: str | None = None

    assert texts_of(Made("p", is_on=True, levels=(1.5,))) == {
        "pin": "p", "is_on": "true", "levels": "[1.5]", "note": "null",
    }  # fmt: skip


def test_rules_see_a_list_in_the_letters_that_it_was_written_in() -> None:
    class Places(Arguments, frozen=True):
        rooms: list[str]

    assert texts_of(Places(rooms=["Küche", "书房"])) == {"rooms": '["Küche", "书房"]'}


async def test_what_stays_here_is_recorded_as_the_model_wrote_it(desk: Desk) -> None:
    call = ToolCall("1", "note", json.dumps({"body": "water", "headers": "none"}))
    await desk.admit(Effect.ACTUATE, call=call)
    assert "water" in str(desk.rows()[0]["arguments"])


async def test_closed_records_hold_no_file(desk: Desk) -> None:
    def is_held() -> bool:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return any(str(link.readlink()).startswith(str(desk.folder / "audit")) for link in links)

    await desk.admit()
    assert is_held()
    desk.records.close()
    assert not is_held()
