import asyncio

from agent.errors import LinkLost
from agent.health.base import Finding, Level, Patient
from agent.health.doctor import examine


async def healthy(_: Patient) -> Finding:
    return Finding.ok("fine")


async def crashing(_: Patient) -> Finding:
    return next(iter([]))


async def refusing(_: Patient) -> Finding:
    raise LinkLost("the cable is out")


async def hanging(_: Patient) -> Finding:
    await asyncio.Event().wait()
    return Finding.ok("never")


async def test_findings_keep_the_order_of_the_checks(patient: Patient) -> None:
    found = await examine(patient, {"b": healthy, "a": healthy})
    assert list(found) == ["b", "a"]
    assert found["a"] == Finding.ok("fine")


async def test_a_crash_is_a_finding_and_spoils_no_other(patient: Patient) -> None:
    found = await examine(patient, {"bad": crashing, "good": healthy})
    assert found["bad"].level is Level.FAILED
    assert "StopIteration" in found["bad"].sentence
    assert found["good"].level is Level.OK


async def test_an_expected_error_is_its_own_sentence(patient: Patient) -> None:
    found = await examine(patient, {"link": refusing})
    assert found["link"] == Finding.failed("the cable is out")


async def test_a_check_that_hangs_ends_by_itself(patient: Patient) -> None:
    found = await examine(patient, {"slow": hanging, "good": healthy}, timeout_s=0.01)
    assert found["slow"].level is Level.FAILED
    assert "hangs" in found["slow"].sentence
    assert found["good"].level is Level.OK


async def test_checks_run_at_the_same_time(patient: Patient) -> None:
    both = asyncio.Barrier(2)

    async def meeting(_: Patient) -> Finding:
        await both.wait()
        return Finding.ok("met")

    found = await examine(patient, {"a": meeting, "b": meeting}, timeout_s=5)
    assert [finding.level for finding in found.values()] == [Level.OK, Level.OK]
