import ast
import hashlib
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import agent
from agent.link.manifest import MAX_METHODS, Manifest, read_manifest
from firmware.host import describe
from firmware.host.bundle import board_file, board_names, build_number, bundle, lay_out
from firmware.host.compiler import CompileFailed, compiled, for_board
from firmware.host.version import firmware_version


def description(name: str) -> dict[str, Any]:
    text = bundle(name)[-1].content.decode()
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def test_the_firmware_has_the_version_of_the_agent_that_brings_it() -> None:
    assert ".".join(map(str, firmware_version())) == agent.__version__


@pytest.mark.parametrize("name", board_names())
def test_the_agent_understands_every_manifest(name: str) -> None:
    made = description(name)
    text = zlib.decompress(made["MANIFEST"])
    assert made["MANIFEST_HASH"] == hashlib.sha256(text).digest()[:8]
    manifest = msgspec.json.decode(text, type=Manifest)
    assert manifest.board == board_file(name).NAME
    assert [pin.index for pin in manifest.pins] == list(range(len(board_file(name).PINS)))
    writing = manifest.method("gpio_write")
    assert writing is not None
    assert (writing.safety, writing.lease, writing.idempotent) == ("actuate", True, True)


@pytest.mark.parametrize("name", board_names())
def test_a_manifest_fits_into_few_frames(name: str) -> None:
    assert len(description(name)["MANIFEST"]) <= 16 * 200


def test_a_board_without_something_does_not_offer_it() -> None:
    poor: Any = SimpleNamespace(NAME="poor", HAS_MCU_TEMPERATURE=False, PINS=())
    offered = {method["name"] for method in describe.manifest(poor)["methods"]}
    assert "gpio_read" in offered
    assert not offered & {"mcu_temperature", "supply_read"}


def test_every_method_has_limits_or_a_unit_for_its_numbers() -> None:
    manifest = read_manifest(msgspec.json.encode(describe.manifest(board_file("simulated"))))
    assert len(manifest.methods) == len(describe.METHODS) <= MAX_METHODS
    # The colours of a pixel, what a remote control sends: whole bytes, and no unit
    bare = {"red", "green", "blue", "address", "command", "repeats"}
    for method in manifest.methods:
        for field in (*method.arguments, *method.result):
            said = field.pins or field.choices or field.unit or field.maximum is not None
            assert said or field.name in bare, (method.name, field.name)


def test_ids_and_names_of_methods_are_used_once() -> None:
    ids = [method["id"] for method in describe.METHODS]
    # Without a gap: a new one takes the next number
    assert sorted(ids) == list(range(16, 16 + len(ids)))
    assert len({method["name"] for method in describe.METHODS}) == len(ids)


@pytest.mark.parametrize("name", board_names())
def test_only_what_moves_an_output_needs_a_lease(name: str) -> None:
    for method in describe.manifest(board_file(name))["methods"]:
        writes = method["name"].endswith("_write") and method["idempotent"]
        # A display may show what it likes: nothing hangs on it. A stepper goes by words of its own
        is_shown = method["name"] == "display_write"
        moves = (writes and not is_shown) or method["name"].startswith("stepper_")
        assert method["lease"] == (moves and method["name"] != "stepper_read")


def test_more_pins_than_a_mask_has_bits_are_refused() -> None:
    row = {"name": "a", "pin": "PA0", "can": ("in",)}
    crowded: Any = SimpleNamespace(NAME="crowded", HAS_MCU_TEMPERATURE=False, PINS=(row,) * 31)
    with pytest.raises(ValueError, match="more than 30 pins"):
        describe.packed(crowded)


def test_the_lease_of_the_description_is_the_firmware_s() -> None:
    outputs = next(file for file in bundle("simulated") if file.target == "node/outputs.py")
    assert f"LEASE_DEFAULT_MS = {describe.LEASE_DEFAULT_MS:_}" in outputs.content.decode()


def test_the_build_number_is_of_the_content_alone() -> None:
    files = bundle("simulated")
    assert build_number(files) == build_number(bundle("simulated"))
    assert build_number(files) != build_number(files[:-1])
    assert build_number(bundle("nucleo_f411re")) != build_number(bundle("weact_blackpill_f411"))


def test_an_unknown_board_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        board_file("../node/loop")


def test_files_are_laid_out_as_on_the_board(tmp_path: Path) -> None:
    lay_out(bundle("simulated"), tmp_path)
    assert (tmp_path / "node" / "session.py").is_file()
    made = {"board.py", "description.py", "kinds.py"}
    assert {"boot.py", "main.py", "slots.py", "frame.py", "node"} | made == {
        path.name for path in tmp_path.iterdir()
    }


def test_everything_but_what_the_board_starts_by_name_is_compiled() -> None:
    targets = {file.target for file in for_board(bundle("nucleo_f411re"))}
    assert {"boot.py", "main.py", "frame.mpy", "board.mpy", "node/loop.mpy"} <= targets
    assert not {target for target in targets if target.endswith(".py")} - {"boot.py", "main.py"}


def test_a_file_that_does_not_compile_is_named() -> None:
    broken = bundle("simulated")[0]
    with pytest.raises(CompileFailed, match=r'"boot.py", line 1 SyntaxError'):
        compiled(type(broken)("boot.py", b"def broken(:\n"))
