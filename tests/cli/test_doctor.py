import json
from pathlib import Path

import pytest

from agent.cli import doctor, exits
from agent.cli.main import main
from agent.health import visit
from agent.health.base import Finding, Patient
from agent.health.repairs.base import RepairResult


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BARNACLE_MODEL_DIR", str(tmp_path / "model"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    # A board that happens to be plugged in is not examined by a test
    monkeypatch.setattr("agent.link.discovery.UDEV_NAME", "barnacle-none", raising=False)
    monkeypatch.setattr("agent.link.discovery._USB_SERIAL", ())
    monkeypatch.setattr(visit, "_ABSENT_TIMEOUT_S", 0.1)


def with_finding(monkeypatch: pytest.MonkeyPatch, finding: Finding) -> None:
    async def check(_: Patient) -> Finding:
        return finding

    monkeypatch.setattr(doctor, "checks_of", lambda _: {"thing": check})


def test_every_check_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    names = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert names == [*doctor.CHECKS]


def test_a_device_without_board_and_model_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == exits.OK
    levels = {name: found["level"] for name, found in json.loads(capsys.readouterr().out).items()}
    assert levels["board"] == levels["embeddings"] == "warning"
    assert levels["config"] == levels["state"] == levels["provider"] == "ok"


def test_a_refused_configuration_is_one_finding_among_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text("[board]\nbdua = 1\n")
    assert main(["doctor", "--json", "--config", str(config)]) == exits.FAILED
    found = json.loads(capsys.readouterr().out)
    assert "did you mean `baud`?" in found["config"]["sentence"]
    assert found["state"]["level"] == "ok"


@pytest.mark.parametrize(
    "table",
    [
        '[channels.irc]\nurl = "irc://127.0.0.1:1"\npassword = "p"',
        '[mcp.a]\ncommand = ["b"]\nenv = {KEY = "p"}',
    ],
)
def test_a_file_with_any_secret_is_kept_from_others(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text(table)
    config.chmod(0o644)
    main(["doctor", "--json", "--config", str(config)])
    found = json.loads(capsys.readouterr().out)["config"]
    assert "`chmod 600" in found["sentence"], found


def test_a_missing_key_is_failed_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text('[provider]\nkind = "openai"\n')
    assert main(["doctor", "--json", "--config", str(config)]) == exits.FAILED
    found = json.loads(capsys.readouterr().out)["provider"]
    assert found["level"] == "failed"
    assert "OPENAI_API_KEY" in found["sentence"]


def test_a_warning_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_finding(monkeypatch, Finding.warning("make \x1b[31mroom"))
    assert main(["doctor"]) == exits.OK
    assert capsys.readouterr().out == "warning  thing       make [31mroom\n"


def test_a_failure_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_finding(monkeypatch, Finding.failed("no room"))
    assert main(["doctor"]) == exits.FAILED
    assert capsys.readouterr().out == "FAILED   thing       no room\n"


@pytest.mark.parametrize(
    ("section", "level", "said"),
    [
        ('backend = "markdown"', "ok", "markdown ("),
        ('backend = "lucid"\nlucid_program = "lucid-none"', "warning", "lucid-none not found"),
        (
            'backend = "postgres"\npostgres_url = "postgresql://x@/y?host=/nowhere"',
            "failed",
            "cannot be reached",
        ),
    ],
)
def test_each_backend_of_the_memory_is_reached_or_says_why_not(
    section: str, level: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text(f"[memory]\n{section}\n")
    config.chmod(0o600)
    main(["doctor", "--json", "--config", str(config)])
    found = json.loads(capsys.readouterr().out)["memory"]
    assert found["level"] == level
    assert said in found["sentence"]
    assert not (tmp_path / "state" / "memory").exists()


def test_looking_changes_nothing(tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    main(["doctor"])
    assert sorted(tmp_path.rglob("*")) == before


def test_what_can_be_put_right_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--fix"]) == exits.OK
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"fixed    folders     created {tmp_path / 'state'}"
    assert main(["doctor", "--fix", "--json"]) == exits.OK
    found = json.loads(capsys.readouterr().out)
    assert found["repairs"] == []
    assert found["checks"]["state"]["level"] == "ok"


def test_without_being_asked_nothing_is_put_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def repair(_: Patient) -> list[RepairResult]:
        raise AssertionError

    with_finding(monkeypatch, Finding.ok("well"))
    monkeypatch.setattr(doctor, "REPAIRS", {"thing": repair})
    assert main(["doctor"]) == exits.OK
    assert capsys.readouterr().out == "ok       thing       well\n"


def test_what_a_person_has_to_do_is_marked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def repair(_: Patient) -> list[RepairResult]:
        return [RepairResult("run \x1bsudo", is_done=False)]

    with_finding(monkeypatch, Finding.ok("well"))
    monkeypatch.setattr(doctor, "REPAIRS", {"thing": repair})
    main(["doctor", "--fix"])
    assert capsys.readouterr().out.splitlines()[0] == "to do    thing       run sudo"
