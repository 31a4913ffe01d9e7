import builtins
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent.cli import exits
from agent.cli.main import main


def test_without_an_agent_it_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["console", "--state-dir", str(tmp_path)]) == exits.FAILED
    assert "no agent with a [console] table is running" in capsys.readouterr().err


def test_without_its_libraries_it_says_how_to_install_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> ModuleType:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "jinja2", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    assert main(["console", "--state-dir", str(tmp_path)]) == exits.USAGE
    assert "console" in capsys.readouterr().err


def test_it_reads_no_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "barnacle.toml"
    broken.write_text("this is no configuration")
    monkeypatch.setenv("BARNACLE_CONFIG", str(broken))
    assert main(["console", "--state-dir", str(tmp_path)]) == exits.FAILED
    assert "barnacle.toml" not in capsys.readouterr().err
