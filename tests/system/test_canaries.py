import base64
from pathlib import Path

import pytest

from tests.canaries import INHERITED, MARK, hits

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
