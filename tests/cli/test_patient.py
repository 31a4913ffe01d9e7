from pathlib import Path

import pytest

from agent.cli.patient import _probe_gateway
from agent.gateway.settings import GatewaySettings
from agent.settings import Paths


@pytest.mark.parametrize(
    ("assistants", "told"),
    [
        ((), "for users of this machine"),
        (("openai", "mcp"), "lent to other assistants by openai, mcp"),
    ],
)
def test_the_doctor_says_by_what_protocols_the_agent_is_lent(
    tmp_path: Path, assistants: tuple[str, ...], told: str
) -> None:
    wanted = GatewaySettings(assistants=assistants)  # type: ignore[arg-type]  # as a file has them
    assert _probe_gateway(wanted, Paths(None, tmp_path)).endswith(told)
