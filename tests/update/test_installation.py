"""Writing an update into the other slot: what is refused, and what is untouched then."""

import fcntl
from pathlib import Path

import pytest

from agent.errors import UpdateRefused
from agent.update.bundle import MAGIC, UpdateManifest
from agent.update.installation import Installation
from agent.update.records import Held, Phase, Trial, UpdateRecords
from tests.fakes.card import NEW, OLD, SLOT_BYTES, Card, Started, in_pieces, make_key, system


async def install(card: Card, content: bytes, *, may_go_back: bool = False) -> UpdateManifest:
    return await Installation(card.machine()).run(in_pieces(content), may_go_back=may_go_back)


async def refused(card: Card, content: bytes) -> str:
    """What is said; the running slot starts as ever, and the other one not at all."""
    with pytest.raises(UpdateRefused) as caught:
        await install(card, content)
    assert card.would_start() == card.would_start(is_trial=True) == Started("A", OLD)
    assert UpdateRecords(card.machine().records).trial() is None
    return str(caught.value)


async def test_a_good_update_waits_in_the_other_slot_for_its_trial(card: Card) -> None:
    done: list[tuple[int, int]] = []
    pieces = in_pieces(card.bundle())
    manifest = await Installation(card.machine(), lambda *told: done.append(told)).run(pieces)
    assert manifest.version == NEW
    assert card.would_start() == Started("A", OLD)
    assert card.would_start(is_trial=True) == Started("B", NEW)
    assert UpdateRecords(card.machine().records).trial() == Trial("B", NEW, OLD, Phase.WRITTEN)
    assert done[-1] == (2 * manifest.size_bytes, 2 * manifest.size_bytes)
    assert [one for one, _ in done] == sorted(one for one, _ in done)


async def test_lines_that_the_owner_added_are_in_force_in_the_trial_too(card: Card) -> None:
    config = card.firmware / "config.txt"
    config.write_text(config.read_text() + "dtoverlay=i2c-rtc\n")
    await install(card, card.bundle())
    assert "dtoverlay=i2c-rtc\n" in (card.firmware / "tryboot.txt").read_text()


async def test_a_part_that_was_changed_is_not_installed(card: Card) -> None:
    content = bytearray(card.bundle())
    content[-5] ^= 1
    assert "system does not match its signature" in await refused(card, bytes(content))


async def test_a_changed_list_of_parts_is_not_even_read(card: Card) -> None:
    content = card.bundle().replace(b'"version": "0.2.0"', b'"version": "9.2.0"')
    before = card.partition("B").read_bytes()
    assert "not signed with a key" in await refused(card, content)
    assert card.partition("B").read_bytes() == before


async def test_somebody_elses_signature_is_none(card: Card, tmp_path: Path) -> None:
    theirs = make_key(tmp_path / "theirs.pem")
    assert "not signed with a key" in await refused(card, card.bundle(key=theirs))


async def test_a_system_without_keys_takes_nothing(card: Card) -> None:
    content = card.bundle()
    for key in card.machine().keys.iterdir():
        key.unlink()
    assert "built without a key" in await refused(card, content)


@pytest.mark.parametrize("end", [len(MAGIC), len(MAGIC) + 3, 200, 60_000, -1])
async def test_an_update_that_ends_early_is_not_installed(card: Card, end: int) -> None:
    assert "is incomplete" in await refused(card, card.bundle()[:end])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a Barnacle update"),
        (MAGIC[:-1], "not a Barnacle update"),
        (b"PK\3\4" * 100, "not a Barnacle update"),
        (MAGIC + b"\xff" * 200, "list of parts is too long"),
    ],
)
async def test_another_file_is_named_so(card: Card, content: bytes, said: str) -> None:
    assert said in await refused(card, content)


@pytest.mark.parametrize("version", [OLD, "0.0.9", "0.1"])
async def test_what_is_not_newer_needs_a_word(card: Card, version: str) -> None:
    content = card.bundle(version)
    assert "--allow-downgrade" in await refused(card, content)
    await install(card, content, may_go_back=True)
    assert card.would_start(is_trial=True) == Started("B", version)


async def test_the_same_version_built_later_is_newer(card: Card) -> None:
    content = card.bundle(OLD, built_s=1_790_000_001)
    assert (await install(card, content)).version == OLD


async def test_a_version_in_between_is_not_left_out(card: Card) -> None:
    assert "needs version 0.1.5 first" in await refused(card, card.bundle(needs="0.1.5"))


async def test_another_architecture_is_refused(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("image.lib.bundle.ARCHITECTURE", "riscv64")
    content = card.bundle()
    assert "for riscv64, this machine is arm64" in await refused(card, content)


@pytest.mark.parametrize("size_bytes", [2 * SLOT_BYTES, SLOT_BYTES, SLOT_BYTES - 512])
async def test_a_system_that_does_not_fit_is_refused_before_a_byte_is_written(
    card: Card, size_bytes: int
) -> None:
    content = card.bundle(content=system(NEW).ljust(size_bytes, b"x"))
    before = card.partition("B").read_bytes()
    assert "too large for its slot" in await refused(card, content)
    assert card.partition("B").read_bytes() == before


async def test_what_waits_for_its_trial_is_not_written_over(card: Card) -> None:
    content = card.bundle()
    await install(card, content)
    with pytest.raises(UpdateRefused, match=r"0\.2\.0 already waits for its trial"):
        await install(card, content)
    assert card.would_start(is_trial=True) == Started("B", NEW)


async def test_a_version_on_trial_is_not_replaced(card: Card) -> None:
    await install(card, card.bundle())
    card.start(is_trial=True)
    with pytest.raises(UpdateRefused, match="is on trial"):
        await install(card, card.bundle("0.3.0"))


async def test_two_updates_at_once_are_one(card: Card) -> None:
    card.machine().records.mkdir(parents=True)
    with (card.machine().records / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UpdateRefused, match="another update is being written"):
            await install(card, card.bundle())


async def test_the_version_that_was_there_is_no_way_back_once_it_is_written_over(
    card: Card,
) -> None:
    records = UpdateRecords(card.machine().records)
    records.write(Held("B", "0.0.9"))
    content = bytearray(card.bundle())
    content[-5] ^= 1
    await refused(card, bytes(content))
    assert records.held("A") is None


async def test_a_card_that_gives_back_something_else_is_said_to_be_worn(card: Card) -> None:
    def spoil(done: int, total: int) -> None:
        if 2 * done == total:
            with card.partition("B").open("r+b") as file:
                file.seek(1000)
                file.write(b"?")

    with pytest.raises(UpdateRefused, match="system differs when read back"):
        await Installation(card.machine(), spoil).run(in_pieces(card.bundle()))
    assert card.would_start(is_trial=True) == Started("A", OLD)


async def test_a_config_txt_that_names_no_slot_is_said(card: Card) -> None:
    (card.firmware / "config.txt").write_text("arm_64bit=1\n")
    with pytest.raises(UpdateRefused, match="needs exactly one line"):
        await install(card, card.bundle())
