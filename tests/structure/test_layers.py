"""The layers hold, no two modules import one another, and the rules can fail."""

from pathlib import Path

import pytest

from tests.structure.layers import circles, violations


def test_nothing_in_the_agent_breaks_the_layers() -> None:
    assert "\n".join(violations()) == ""


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("link/board.py", "from agent.tools.base import Tool", "points up"),
        ("link/board.py", "import agent.turn.turn", "points up"),
        ("link/board.py", "from agent import app", "points up"),
        ("app/build.py", "from agent.cli import output", "points up"),
        ("settings.py", "from agent.app import build", "points up"),
        ("schedule/book.py", "from agent.settings import Paths", "points up"),
        ("messaging/inbox.py", "from agent.health import report", "points up"),
        ("turn/turn.py", "from agent.messaging import inbox", "points up"),
        ("hardware/estop.py", "from agent.messaging import inbox", "points up"),
        ("access/people.py", "from agent.turn import turn", "points up"),
        ("approvals/gate.py", "from agent.hardware import estop", "points up"),
        ("tools/one.py", "from agent.access import people", "points up"),
        ("link/board.py", "from ..tools import base", "points up"),
        ("system/clock.py", "from agent.storage import database", "points up"),
        ("turn/turn.py", "def late():\n    from agent import cli", "points up"),
        ("tools/one.py", "if TYPE_CHECKING:\n    from agent.health import checks", "points up"),
        ("tools/one.py", "import_module('agent.turn.turn')", "points up"),
        ("tools/one.py", "importlib.import_module(f'agent.cli.{name}')", "points up"),
        ("turn/turn.py", "from agent.providers.openai import OpenAi", "import the seam"),
        ("health/look.py", "import agent.memory.sqlite", "import the seam"),
        ("newcomer.py", "", "has no layer"),
        ("link/frame.py", "import os", "may import only"),
        ("link/frame.py", "from agent.errors import LinkLost", "may import only"),
        ("security/policy.py", "import socket", "may import only"),
        ("security/policy.py", "from agent.system.clock import Clock", "may import only"),
        ("providers/one.py", "from httpx import Timeout", "agent.net.http_call know httpx"),
        ("providers/one.py", "def late():\n    import httpx", "agent.net.http_call know httpx"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, module: str, source: str, complaint: str) -> None:
    _write(tmp_path / "agent" / module, source)
    [problem] = violations(tmp_path)
    assert f"agent/{module}" in problem
    assert complaint in problem


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("app/providers.py", "from agent.providers.openai import OpenAi"),
        ("cli/chat.py", "from agent import app, __version__"),
        ("turn/turn.py", "from agent.providers.base import Provider"),
        ("memory/sqlite.py", "from agent.memory.ranking import rank"),
        ("link/frame.py", "import binascii\nfrom struct import pack"),
        ("security/policy.py", "from agent.messages import Effect\nimport enum"),
        ("net/http.py", "import httpx"),
        ("net/http_call.py", "import httpx"),
        ("__init__.py", ""),
    ],
)
def test_what_is_allowed_is_left_alone(tmp_path: Path, module: str, source: str) -> None:
    _write(tmp_path / "agent" / module, source)
    assert list(violations(tmp_path)) == []


def test_no_two_modules_import_one_another() -> None:
    assert "\n".join(circles()) == ""


@pytest.mark.parametrize(
    "back",
    [
        "from agent.tools.one import ONE",
        "def late():\n    from agent.tools import one",
        "if TYPE_CHECKING:\n    from agent.tools.one import One",
    ],
)
def test_a_circle_is_named_wherever_its_imports_stand(tmp_path: Path, back: str) -> None:
    _write(tmp_path / "agent/tools/one.py", "import agent.tools.two")
    _write(tmp_path / "agent/tools/two.py", back)
    _write(tmp_path / "agent/tools/three.py", "import agent.tools.two")
    [problem] = circles(tmp_path)
    assert "agent.tools.one and agent.tools.two import one another" in problem


def _write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
