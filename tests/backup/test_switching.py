"""Names of what a restore leaves, as those say them who must not load the whole of it."""

from pathlib import Path

from agent.app.access import RESTORED
from agent.app.run import HALF_RESTORED
from agent.backup import aftermath, inventory, switching
from agent.health import ownership
from agent.provision import card_restore


def test_everybody_looks_for_a_restore_where_it_is_noted() -> None:
    plan = Path(switching.STAGED, switching.PLAN)
    assert plan == HALF_RESTORED == card_restore.PLAN
    assert switching.MARK == card_restore.MARK
    assert aftermath.NAME == RESTORED
    assert inventory.KEPT == ownership.SET_ASIDE
