"""A platform that is configured brings its own code along, and nobody else's."""

import subprocess
import sys

import pytest

from agent.channels.catalog import NAMES, platform

SCRIPT = """
import sys
from agent.channels.catalog import platform
assert platform(sys.argv[1]).name == sys.argv[1]
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_platform_loads_no_other(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    folders = {module.split(".")[2] for module in loaded if module.startswith("agent.channels.")}
    assert folders & set(NAMES) == {name}
    assert ("paho.mqtt.client" in loaded) == (name == "mqtt")


def test_whatever_may_be_chosen_asks_for_something() -> None:
    assert all(platform(name).wanted for name in NAMES)
