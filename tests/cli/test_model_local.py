import hashlib
import re
import shlex
import shutil
import socket
import subprocess
import urllib.request
from argparse import Namespace
from pathlib import Path

import pytest

from agent.cli import exits, model_local
from agent.cli.main import main
from agent.errors import ConfigRefused
from tests.fakes import llama_server
from tests.fakes.tiny_gguf import write_tiny_model
from tests.structure.sources import ROOT
from tests.waits import wait_until_sync

PROXY = Path("/usr/lib/systemd/systemd-socket-proxyd")
ACTIVATE = shutil.which("systemd-socket-activate") or ""
UNIT = ROOT / "systemd" / "barnacle-model-server.service"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.gguf"
    write_tiny_model(file)
    file.chmod(0o644)
    return file


def chosen(folder: Path, file: Path | str, sha256: str = "", context: int | None = None) -> str:
    """Return what the units read afterwards."""
    kept = folder / "model.env"
    given = Namespace(file=str(file), sha256=sha256, context=context)
    assert model_local.run(given, kept) == exits.OK
    return kept.read_text()


def test_the_units_get_the_file_its_hash_and_the_window(tmp_path: Path, model: Path) -> None:
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    told = f'MODEL="{model}"\nSHA256="{sha256}"\nCONTEXT="4096"\n'
    assert chosen(tmp_path, model) == told
    assert 'CONTEXT="8192"' in chosen(tmp_path, model, sha256.upper(), 8192)


def test_what_to_do_next_is_said(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen(tmp_path, model)
    said = capsys.readouterr().out
    assert "systemctl enable --now barnacle-model.socket" in said
    assert f'base_url = "{model_local.ADDRESS}"' in said


def test_another_hash_than_the_given_one_is_refused(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ConfigRefused, match="fetch it again"):
        chosen(tmp_path, model, "0" * 64)
    assert not (tmp_path / "model.env").exists()


@pytest.mark.parametrize(
    ("name", "content", "mode", "said"),
    [
        ("a.gguf", b"GGML", 0o644, "no GGUF file"),
        ("a.gguf", b"GGUF", 0o640, "chmod a+r"),
        ("a$b.gguf", b"GGUF", 0o644, "rename it"),
        ("a b.gguf", b"GGUF", 0o644, "rename it"),
    ],
)
def test_what_the_server_could_not_load_is_refused(
    tmp_path: Path, name: str, content: bytes, mode: int, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(ConfigRefused, match=re.escape(said)):
        chosen(tmp_path, file)


def test_a_model_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "huge.gguf"
    with file.open("wb") as opened:
        opened.write(b"GGUF")
        opened.truncate(model_local._memory_bytes())
    file.chmod(0o644)
    with pytest.raises(ConfigRefused, match="smaller quantization"):
        chosen(tmp_path, file)


def test_a_file_that_is_not_there_or_not_named_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigRefused, match="No such file"):
        chosen(tmp_path, tmp_path / "none.gguf")
    assert main(["models", "local"]) == exits.USAGE
    assert "barnacle models local /srv" in capsys.readouterr().err


def commands(key: str) -> list[str]:
    text = UNIT.read_text().replace("\\\n", " ")
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def test_the_unit_refuses_a_file_that_changed(tmp_path: Path, model: Path) -> None:
    kept = dict(line.split("=", 1) for line in chosen(tmp_path, model).splitlines())
    environ = {"PATH": "/usr/bin:/bin", **{key: value.strip('"') for key, value in kept.items()}}
    (check,) = map(shlex.split, commands("ExecStartPre"))
    assert subprocess.run(check, env=environ, check=False).returncode == 0
    with model.open("ab") as opened:
        opened.write(b"x")
    done = subprocess.run(check, env=environ, check=False, capture_output=True)
    assert done.returncode != 0


def of_unit(name: str, key: str) -> str:
    found = re.search(rf"^{key}=(\S+)$", (ROOT / "systemd" / name).read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_memory_of_the_server_is_bounded_and_ends_before_the_agents() -> None:
    """On the smallest machine of the guide both fit beside each other, and the model goes first."""
    server, agent = UNIT.name, "barnacle.service"
    share = int(of_unit(server, "MemoryMax").removesuffix("%")) / 100
    # A file that is taken fits with room for the conversation's own memory
    assert share >= model_local.MOST_SHARE + 0.05
    memory_mb = 8 * 1024
    agents_mb = int(of_unit(agent, "MemoryMax").removesuffix("M"))
    assert share * memory_mb + agents_mb + memory_mb / 8 <= memory_mb
    assert of_unit(server, "MemorySwapMax") == "0"
    assert of_unit(server, "OOMPolicy") == "kill"
    assert int(of_unit(server, "OOMScoreAdjust")) > 0 > int(of_unit(agent, "OOMScoreAdjust"))
    assert int(of_unit(server, "CPUWeight")) < int(of_unit(agent, "CPUWeight"))
    (start,) = commands("ExecStart")
    cores_of_a_pi_5 = 4
    threads = shlex.split(start)[shlex.split(start).index("--threads") + 1]
    assert int(threads) < cores_of_a_pi_5


def test_the_sockets_fit_together() -> None:
    listening = re.search(
        r"ListenStream=(\S+)", (ROOT / "systemd/barnacle-model.socket").read_text()
    )
    assert listening is not None
    assert f"http://{listening[1]}/v1" == model_local.ADDRESS
    (start,) = commands("ExecStart")
    port = shlex.split(start)[shlex.split(start).index("--port") + 1]
    assert f"127.0.0.1:{port}\n" in (ROOT / "systemd/barnacle-model.service").read_text()
    assert f"127.0.0.1:{port}/health" in commands("ExecStartPost")[0]


@pytest.mark.skipif(not PROXY.exists() or not ACTIVATE, reason="systemd's programs are missing")
@pytest.mark.skipif(bool(llama_server.absence()), reason=llama_server.absence())
def test_a_question_goes_through_the_way_that_the_socket_starts(tmp_path: Path) -> None:
    assert str(PROXY) in (ROOT / "systemd/barnacle-model.service").read_text()
    with llama_server.running(tmp_path, 2048) as url, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        way = f"127.0.0.1:{probe.getsockname()[1]}"
        probe.close()
        behind = url.removeprefix("http://").removesuffix("/v1")
        with subprocess.Popen([ACTIVATE, "-l", way, PROXY, behind]) as process:
            try:
                body = wait_until_sync(lambda: asked(f"http://{way}/v1/models"))
            finally:
                process.terminate()
    assert '"tiny"' in body


def asked(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


@pytest.mark.skipif(bool(llama_server.absence()), reason=llama_server.absence())
def test_the_real_server_takes_the_options_of_the_unit(tmp_path: Path) -> None:
    (start,) = commands("ExecStart")
    words = shlex.split(start)[1:]
    given = {"--model", "--host", "--port", "--ctx-size"}
    more = [
        word
        for place, word in enumerate(words)
        if word not in given and (place == 0 or words[place - 1] not in given)
    ]
    with llama_server.running(tmp_path, 2048, *more) as url:
        assert url.startswith("http://127.0.0.1:")
