import asyncio
from pathlib import Path

from agent.app.machine_health import FIRST_LOOK_S, MachineHealth
from agent.settings import Paths
from tests.fakes.clock import SteppedClock
from tests.fakes.kernel import write


def test_nothing_is_felt_before_it_is_at_work(tmp_path: Path) -> None:
    assert MachineHealth(Paths(None, tmp_path), SteppedClock(), tmp_path).sentences() == ()


async def test_what_hurts_is_told_to_the_owner_and_to_every_turn(tmp_path: Path) -> None:
    write(tmp_path / "root", "sys/fs/ext4/mmcblk0p4/errors_count", "3\n")
    clock, told = SteppedClock(), list[str]()
    sensing = MachineHealth(Paths(None, tmp_path), clock, tmp_path / "root")

    async def tell(text: str) -> None:
        told.append(text)

    running = asyncio.ensure_future(sensing.run(tell))
    while not told:  # noqa: ASYNC110 - the owner has no event
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert clock.slept_s[0] == FIRST_LOOK_S
    (sentence,) = sensing.sentences()
    assert told == [f"About me: {sentence}."]
    assert (tmp_path / "senses.json").exists()
