import os
import random
import time
from pathlib import Path

import pytest

from scripts.lib.backup_findings import Findings, count
from scripts.lib.backup_kills import Trial, run_pump
from scripts.lib.backup_world import ACTS, CHAT, READY, SENT, World
from scripts.lib.bench.block_devices import cut_disk, missing
from tests.fakes.lives import lives_of
from tests.fakes.llm_thread import LlmThread
from tests.waits import stays, wait_until


@pytest.mark.timeout(300)
async def test_a_restore_under_kills_repeats_and_loses_nothing(tmp_path: Path) -> None:
    found = Findings()
    with LlmThread(run_pump) as model, lives_of("scripts.lib.backup_world") as lives:
        trial = Trial(World(tmp_path), random.Random("3"), found, lives)
        await trial.run(model.server.base_url)
    assert found.is_clean
    assert (found.restores, found.kills) == (1, 6)
    assert found.kept > 20


def test_a_cut_forgets_what_was_not_synced_and_keeps_the_rest(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    with cut_disk(tmp_path) as disk:
        (disk.root / "kept").write_text("durable")
        os.sync()
        (disk.root / "lost").write_text("not yet")
        disk.cut()
        disk.come_back()
        assert (disk.root / "kept").read_text() == "durable"
        assert not (disk.root / "lost").exists()


async def test_who_is_without_power_says_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    with LlmThread(run_pump) as model, lives_of("scripts.lib.backup_world") as lives:
        world.make(model.server.base_url)
        async with lives.begin("run", str(tmp_path), "") as life:
            await wait_until((tmp_path / READY).exists)
            life.freeze()
            world.add(CHAT, {"id": "m1", "text": "pump 1", "at_s": time.time()})
            await stays(lambda: not world.rows(SENT), 1.0)


def test_what_is_done_or_said_again_is_counted(tmp_path: Path) -> None:
    world, found = World(tmp_path), Findings()
    for number in (1, 2, 2):
        world.add(ACTS, {"number": number})
    for number, answers in ((5, "m1"), (5, "m1"), (6, "m1"), (7, "")):
        world.add(SENT, {"id": number, "answers": answers, "text": "done."})
    count(world, found)
    assert (found.repeated_acts, found.repeated_messages) == (1, 1)
    assert not found.is_clean
