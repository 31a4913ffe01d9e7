import pytest

from agent.app.probe.meter import ProbeTimes, TimedProvider
from agent.app.probe.run import ModelProbe, ProbeReport
from agent.app.probe.tasks import ProbeSkill, ProbeTask
from agent.providers.base import Provider
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, UnreachableProvider, calls

ON = ProbeTask(ProbeSkill.CALLS, "Turn the led on.", (("led", "on"),))
WRITE = ("board_gpio_write", '{"pin":"led","value":"on"}')
FLAKY = ProbeTask(ProbeSkill.REPAIR, "Turn the led on.", (("led", "on"),), fails_first=True)


async def probed(provider: Provider, *tasks: ProbeTask) -> ProbeReport:
    times, clock = ProbeTimes(), SteppedClock()
    return await ModelProbe(TimedProvider(provider, times, clock), times, clock).run(tasks)


async def test_a_model_that_calls_the_right_tool_is_right() -> None:
    report = await probed(ScriptedProvider(calls(WRITE), "The led is on."), ON)
    assert [one.fault for one in report.outcomes] == [""]
    assert report.of(ProbeSkill.CALLS) == (1, 1)
    assert report.trust(ProbeSkill.CALLS) == "yes"
    assert (report.rounds, report.times.requests, report.repairs) == (2, 2, 0)


async def test_a_model_that_only_says_so_is_wrong() -> None:
    report = await probed(ScriptedProvider("The led is on."), ON)
    assert report.outcomes[0].fault == "moved nothing instead of led on"
    assert report.trust(ProbeSkill.CALLS) == "no"


async def test_a_second_try_after_a_failure_is_right() -> None:
    model = ScriptedProvider(calls(WRITE), calls(WRITE), "It is on now.")
    report = await probed(model, FLAKY)
    assert report.outcomes[0].fault == ""


async def test_every_task_begins_with_a_board_of_its_own() -> None:
    model = ScriptedProvider(calls(WRITE), "On.", "On, I think.")
    report = await probed(model, ON, ON)
    assert [bool(one.fault) for one in report.outcomes] == [False, True]


async def test_a_service_that_does_not_answer_is_told_for_each_task() -> None:
    report = await probed(UnreachableProvider(), ON)
    assert "no answer" in report.outcomes[0].fault


@pytest.mark.parametrize(
    ("right", "trust"), [(10, "yes"), (9, "yes"), (7, "with a look"), (5, "no")]
)
async def test_trust_follows_the_share(right: int, trust: str) -> None:
    model = ScriptedProvider(*[calls(WRITE), "On."] * right, *["On."] * (10 - right))
    assert (await probed(model, *[ON] * 10)).trust(ProbeSkill.CALLS) == trust
