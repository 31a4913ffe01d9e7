import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.messages import Effect, Provenance
from agent.security.environment import PATH
from agent.tools.picture_program import Album
from agent.tools.screenshot import ScreenshotTool, find_display
from tests.fakes.clock import SteppedClock
from tests.fakes.picture_programs import install, png
from tests.fakes.workspace import used


async def shot(tmp_path: Path, program: str, environ: dict[str, str]) -> dict[str, object]:
    search = install(tmp_path / "bin", program, "working", png(1920, 1080))
    tool = ScreenshotTool(
        find_display(environ, search), Album(tmp_path / "workspace", SteppedClock())
    )
    assert tool.effect is Effect.WRITE
    assert "screen" in tool.in_words(tool.parse(""))
    result = await used(tool)
    assert (result.provenance, result.source) == (Provenance.WEB, "screen")
    fields: dict[str, object] = json.loads(result.text)
    return fields


async def test_under_wayland_grim_takes_it(tmp_path: Path) -> None:
    environ = {"WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": "/run/user/1", "API_KEY": "k"}
    fields = await shot(tmp_path, "grim", environ | {"DISPLAY": ":0"})
    assert (fields["format"], fields["width"], fields["height"]) == ("png", 1920, 1080)
    passed = (tmp_path / "bin" / "grim.env").read_text()
    assert "WAYLAND_DISPLAY=wayland-1" in passed
    assert "API_KEY" not in passed


async def test_under_x11_scrot_takes_it(tmp_path: Path) -> None:
    fields = await shot(tmp_path, "scrot", {"DISPLAY": ":7", "XAUTHORITY": "/run/xauthority"})
    assert str(fields["path"]).startswith("pictures/screen-")
    assert "DISPLAY=:7" in (tmp_path / "bin" / "scrot.env").read_text()


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    assert "no screen" in find_display({}, str(tmp_path)).trouble
    for environ, name in (({"DISPLAY": ":0"}, "scrot"), ({"WAYLAND_DISPLAY": "w"}, "grim")):
        assert f"install the package {name}" in find_display(environ, str(tmp_path)).trouble


async def test_a_real_screen_is_taken(tmp_path: Path) -> None:
    server, program = shutil.which("Xvfb"), shutil.which("scrot", path=PATH)
    if server is None or program is None:
        pytest.skip("no Xvfb or no scrot: install the packages xvfb and scrot")
    with real_screen(server) as display:
        tool = ScreenshotTool(
            find_display({"DISPLAY": display}), Album(tmp_path / "workspace", SteppedClock())
        )
        fields = json.loads((await used(tool)).text)
    assert (fields["format"], fields["width"], fields["height"]) == ("png", 320, 240)


@contextlib.contextmanager
def real_screen(server: str) -> Iterator[str]:
    """An X server of its own number, which it tells when it is ready."""
    argv = [server, "-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        try:
            yield f":{running.stdout.readline().decode().strip()}"
        finally:
            running.terminate()
