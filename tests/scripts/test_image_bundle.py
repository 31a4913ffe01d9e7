"""The update that a build makes: the same bytes each time, and whose key is believed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.errors import UpdateRefused
from agent.update.bundle import MAGIC, Stream, check_signature, manifest_of, read_header
from agent.update.installation import Installation
from agent.update.source import from_file
from image.lib import bundle, layout
from tests.fakes.card import NEW, OLD, Card, Started, in_pieces, make_key


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card(tmp_path / "card", make_key(tmp_path / "key.pem"))


def test_the_same_input_makes_the_same_bytes(card: Card) -> None:
    assert card.bundle() == card.bundle()


def test_both_sides_know_the_same_beginning() -> None:
    assert bundle.MAGIC == MAGIC


async def test_the_list_of_parts_is_one_that_the_agent_reads(card: Card) -> None:
    signed, signature = await read_header(Stream(in_pieces(card.bundle())))
    check_signature(signed, signature, card.machine().keys)
    manifest = manifest_of(signed)
    assert (manifest.version, manifest.architecture) == (NEW, "arm64")
    assert manifest.parts[-1].name == "system"
    assert set(manifest.boot_files) == set(manifest.parts[:-1])


async def test_a_new_key_comes_with_an_update_that_the_old_one_signed(
    card: Card, tmp_path: Path
) -> None:
    newer = make_key(tmp_path / "newer.pem")
    with pytest.raises(UpdateRefused, match="not signed with a key"):
        await Installation(card.machine()).run(in_pieces(card.bundle(key=newer)))
    public = tmp_path / "newer.pub"
    public.write_bytes(bundle.public_part(newer))
    bundle.describe(card.root, bundle.Release(OLD, 0), [card.key, public])
    await Installation(card.machine()).run(in_pieces(card.bundle(key=newer)))
    assert card.would_start(is_trial=True) == Started("B", NEW)


def test_no_private_key_gets_into_an_image(card: Card) -> None:
    files = [path for path in (card.root / "usr").rglob("*") if path.is_file()]
    assert len(files) == 2
    assert not any(b"PRIVATE" in path.read_bytes() for path in files)


@pytest.mark.parametrize("kind", ["rsa", "text"])
def test_another_kind_of_key_is_refused_before_anything_is_built(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    path.write_text("no key\n")
    if kind == "rsa":
        command = ["openssl", "genpkey", "-algorithm", "RSA", "-out", path]
        subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(OSError, match="is no Ed25519 key"):
        bundle.public_part(path)


async def test_what_a_build_has_left_becomes_an_update_of_any_version(
    card: Card, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "cache/work"
    card.bundle("0.3.0")
    shutil.copytree(card.root / "work/A", work / "firmware/A")
    shutil.copyfile(card.root / "work/system", work / "system.squashfs")
    (work / "image.json").write_text(json.dumps({"built_s": 5}))
    words = ["--cache", work.parent, "--sign-key", card.key, "--version", "0.3.0"]
    assert bundle.main([*map(str, words)]) == 0
    made = Path(capsys.readouterr().out.strip())
    assert made.name == "barnacle-0.3.0.update"
    await Installation(card.machine()).run(from_file(made))
    assert card.would_start(is_trial=True) == Started("B", "0.3.0")


def test_without_a_build_there_is_nothing_to_make_it_of(
    card: Card, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bundle.main(["--cache", str(tmp_path), "--sign-key", str(card.key)]) == 1
    assert "image.json" in capsys.readouterr().err


def test_the_command_line_names_the_slot_it_is_written_to() -> None:
    assert layout.SLOTS["B"].partuuid in layout.command_line("B")
    assert layout.SLOTS["A"].partuuid not in layout.command_line("B")
