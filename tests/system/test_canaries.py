import base64
import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config import Secret
from agent.security.redact import Redactor
from agent.system.logs import PlainFormatter
from tests.canaries import INHERITED, MARK, hits, is_in, secret
from tests.structure.sources import ROOT

KEY = f"{MARK}-4f1c"


@pytest.fixture
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like one that a run leaves; emptied again, or this run would fail by it."""
    return tmp_path_factory.mktemp("left")


@pytest.mark.parametrize(
    "content",
    [
        f"key={KEY}\n".encode(),
        b"x" * (1024 * 1024 - 3) + KEY.encode(),
        KEY.upper().encode(),
        f"https://a.example.com/?k={KEY}".replace("-", "%2d").encode(),
        base64.b64encode(KEY.encode()),
        INHERITED["GITHUB_TOKEN"].encode(),
    ],
)
@pytest.mark.parametrize("name", ["chat.log", "state/agent.db", "state/agent.db-wal", "a/b.jsonl"])
def test_what_an_agent_kept_is_found(left: Path, name: str, content: bytes) -> None:
    path = left / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        assert hits(left) == [str(path)]
    finally:
        path.unlink()


@pytest.mark.parametrize("name", ["barnacle.toml", "x/config.toml", "workspace/notes.txt"])
def test_what_a_test_wrote_itself_is_none(left: Path, name: str) -> None:
    (left / name).parent.mkdir(parents=True, exist_ok=True)
    (left / name).write_text(KEY)
    assert hits(left) == []


def test_what_only_speaks_of_birds_is_none(left: Path) -> None:
    (left / "chat.log").write_text("a canary in a coal mine, and a canarybird")
    assert hits(left) == []


def test_the_same_purpose_is_the_same_secret() -> None:
    assert secret("provider") == secret("provider") != secret("search")
    assert is_in(secret("provider"))


def logged(redactor: Redactor) -> str:
    """A refusal that quotes the key, as the agent's own handler writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainFormatter(redactor.redact))
    record = logging.LogRecord("agent", logging.ERROR, "", 0, "it broke", None, None)
    refusal = ValueError(f"refused {KEY}")
    record.exc_info = (ValueError, refusal, None)
    handler.handle(record)
    return stream.getvalue()


def test_a_line_of_the_log_that_holds_one_is_noticed(lines_with_a_secret: list[str]) -> None:
    assert "refused ***" in logged(Redactor([Secret(KEY)]))
    assert lines_with_a_secret == []
    line = logged(Redactor())
    assert lines_with_a_secret == [line.rstrip("\n")]
    # Or this test would fail by it
    lines_with_a_secret.clear()


def test_what_a_test_leaves_on_a_stream_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.canaries import pytest_runtest_makereport\n"
        "__all__ = ['pytest_runtest_makereport']\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        f"def test_out(): print({KEY!r})\n"
        f"def test_err(): print({KEY!r}, file=sys.stderr)\n"
        "def test_clean(): print('words')\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert "3 passed, 2 errors" in run.stdout
    assert "CANARY: a secret stands on the standard streams" in run.stdout
