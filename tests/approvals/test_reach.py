"""Private data, an outside destination and low trust never meet without a yes."""

import pytest
from msgspec.structs import replace

from agent.approvals.reach import holds_private, reach_of, reach_of_file
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.security.access import AT_THE_DEVICE, Audience, AudienceRole, Circle
from agent.security.policy import Verdict
from agent.security.shares import NOTHING_PRIVATE, PASSED_ON, REHEARSED, Shares
from agent.tools.base import NoArguments, Tool, ToolContext
from agent.tools.memory import MemoryRecallTool
from agent.tools.system import TimeNowTool
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import PreparedMemory
from tests.fakes.said import words

OWNER = ToolContext("c", "owner", Provenance.OWNER)
GUEST = replace(OWNER, person="ben", audience=Audience(AudienceRole.GUEST, "ben"))


class Forgetful(Tool[NoArguments]):
    """A tool whose author has said nothing of whose data it shows."""

    reads = Provenance.OWNER
    name, description, effect = "forgetful", words("Show something."), Effect.READ
    arguments_type = NoArguments

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return ToolResult.done(words("something"))


class Outside(Forgetful):
    """A look that is sent to somebody else."""

    name, sends_out, shown = "outside", True, NOTHING_PRIVATE


def test_what_a_tool_forgets_to_say_is_the_owners() -> None:
    assert reach_of(Forgetful(), NoArguments(), OWNER).verdict is Verdict.ALLOW
    assert reach_of(Forgetful(), NoArguments(), GUEST).verdict is Verdict.ASK
    group = replace(OWNER, audience=replace(AT_THE_DEVICE, group="x"))
    assert reach_of(Forgetful(), NoArguments(), group).verdict is Verdict.ASK


@pytest.mark.parametrize(
    ("trust", "is_private", "verdict"),
    [
        (Provenance.OWNER, True, Verdict.ALLOW),
        (Provenance.WEB, False, Verdict.ALLOW),
        (Provenance.WEB, True, Verdict.ASK),
        (Provenance.TOOL, True, Verdict.ASK),
        (Provenance.USER, True, Verdict.ASK),
    ],
)
def test_a_look_that_is_sent_outside_asks(
    trust: Provenance, verdict: Verdict, *, is_private: bool
) -> None:
    context = replace(OWNER, provenance=trust, holds_private=is_private)
    assert reach_of(Outside(), NoArguments(), context).verdict is verdict


def test_what_was_read_is_known_to_be_private() -> None:
    call = ToolCall("1", "x", "{}")
    assert holds_private(Forgetful(), call, OWNER)
    assert not holds_private(TimeNowTool(SteppedClock()), call, OWNER)
    assert not holds_private(None, call, OWNER)
    assert not holds_private(Forgetful(), ToolCall("1", "x", "["), OWNER)
    assert MemoryRecallTool(PreparedMemory()).shown == PASSED_ON
    recalled = ToolCall("1", "x", '{"query": "*"}')
    assert holds_private(MemoryRecallTool(PreparedMemory()), recalled, OWNER)


class Rehearsed(Forgetful):
    """A tool of which the result may tell what readings were."""

    name, shown = "rehearsed", REHEARSED


@pytest.mark.parametrize("circle", list(Circle))
def test_what_a_rehearsal_tells_is_as_private_as_readings_are(circle: Circle) -> None:
    context = replace(GUEST, shares=Shares(readings=circle))
    # It tells nobody who may not see them, so it needs no yes
    assert reach_of(Rehearsed(), NoArguments(), context).verdict is Verdict.ALLOW
    call = ToolCall("1", "x", "{}")
    assert holds_private(Rehearsed(), call, context) is (circle is not Circle.EVERYBODY)


def test_a_file_goes_to_whom_it_is_shared_with() -> None:
    assert reach_of_file("menu/x.txt", GUEST).verdict is Verdict.ASK
    shared = replace(GUEST, shares=Shares({"menu": "everybody"}))
    assert reach_of_file("menu/x.txt", shared).verdict is Verdict.ALLOW
    assert reach_of_file("diary.txt", shared).verdict is Verdict.ASK
