import asyncio
from collections.abc import Mapping

import pytest

from agent.errors import LinkLost
from agent.health.base import Finding, Level, Patient
from agent.health.doctor import examine, mend
from agent.health.repairs.base import Repair, RepairResult


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


async def test_a_closed_file_is_named_with_who_may_give_it_back(patient: Patient) -> None:
    async def closed(_: Patient) -> Finding:
        raise PermissionError(13, "Permission denied", "/state/jobs.json")

    found = await examine(patient, {"jobs": closed})
    assert found["jobs"].level is Level.FAILED
    assert "this user cannot open /state/jobs.json: `sudo barnacle" in found["jobs"].sentence


async def test_a_folder_that_is_closed_is_no_failure_of_every_check(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed(_: Patient) -> Finding:
        raise PermissionError(13, "Permission denied", str(patient.state_dir / "jobs.json"))

    patient.state_dir.mkdir(exist_ok=True)
    # Root is let in everywhere
    monkeypatch.setattr("os.access", lambda *_: False)
    found = await examine(patient, {"jobs": closed})
    sentence = f"not checked: this user cannot open {patient.state_dir}"
    assert found["jobs"] == Finding.warning(sentence)


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


async def mended(patient: Patient, repairs: Mapping[str, Repair]) -> list[tuple[str, RepairResult]]:
    return [done async for done in mend(patient, repairs, timeout_s=0.01)]


async def test_repairs_go_one_after_the_other(patient: Patient) -> None:
    order: list[str] = []

    async def first(_: Patient) -> list[RepairResult]:
        await asyncio.sleep(0)
        order.append("first")
        return [RepairResult("made it")]

    async def second(_: Patient) -> list[RepairResult]:
        order.append("second")
        return []

    assert await mended(patient, {"a": first, "b": second}) == [("a", RepairResult("made it"))]
    assert order == ["first", "second"]


async def test_a_repair_that_fails_or_hangs_spoils_no_other(patient: Patient) -> None:
    async def fail(_: Patient) -> list[RepairResult]:
        raise PermissionError(13, "Permission denied", "/state/agent.db")

    async def hang(_: Patient) -> list[RepairResult]:
        await asyncio.Event().wait()
        return []

    async def work(_: Patient) -> list[RepairResult]:
        return [RepairResult("made it")]

    done = dict(await mended(patient, {"a": fail, "b": hang, "c": work}))
    assert not done["a"].is_done
    assert "this user cannot open /state/agent.db: run `sudo barnacle" in done["a"].sentence
    assert "hangs" in done["b"].sentence
    assert done["c"].is_done
