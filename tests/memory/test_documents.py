import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.base import Scope
from agent.memory.documents import LOOK_S, Documents, Refreshed
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock
from tests.fakes.pdfs import pdf


class Shelf:
    """A folder, and documents made of it as often as a test restarts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "papers"
        self.folder.mkdir()
        self.clock = SteppedClock()

    def open(self) -> Documents:
        index = SqliteMemory(self.root / "index" / "documents.db", NoEmbedder(), self.clock)
        state = self.root / "index" / "documents.json"
        return Documents(self.folder, index, state, Provenance.TOOL, self.clock)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.clock.advance(1)
        # Two writes within one tick of the file system are one version
        os.utime(path, (self.clock.wall_s(), self.clock.wall_s()))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    return Shelf(tmp_path)


async def sources(documents: Documents, query: str) -> list[str]:
    return [entry.source for entry in await documents.search(query, 5)]


async def test_every_kind_of_document_is_found_with_file_and_page(shelf: Shelf) -> None:
    shelf.write("pump.md", "# Wiring\nThe pump hangs on PB0.\n# Limits\nTen seconds at most.")
    shelf.write("deep/notes.TXT", "the greenhouse key hangs behind the door")
    shelf.write("sheet.pdf", pdf(["General description", "Maximum supply voltage 3.6 V"]))
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=3)
    assert (await sources(documents, "supply voltage"))[0] == "sheet.pdf#page=2"
    assert (await sources(documents, "where is the greenhouse key?"))[0] == "deep/notes.TXT"
    [found, *_] = await documents.search("how is the pump wired?", 5)
    assert found.content == "Wiring\nThe pump hangs on PB0."
    assert (found.source, found.provenance) == ("pump.md", Provenance.TOOL)
    await documents.aclose()


async def test_a_file_is_read_again_only_when_it_has_changed(shelf: Shelf) -> None:
    shelf.write("a.md", "# One\nold words\n# Two\nmore words")
    shelf.write("b.md", "something else")
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=2)
    assert await documents.refresh() == Refreshed()
    await documents.aclose()
    documents = shelf.open()
    assert await documents.refresh() == Refreshed()
    shelf.write("a.md", "# One\nnew words")
    assert await documents.refresh() == Refreshed(indexed=1)
    contents = [entry.content async for entry in documents._index.entries()]
    assert sorted(contents) == ["One\nnew words", "something else"]
    await documents.aclose()


async def test_what_goes_from_the_folder_goes_from_the_index(shelf: Shelf) -> None:
    shelf.write("a.md", "green tea")
    shelf.write("b.md", "black tea")
    documents = shelf.open()
    await documents.refresh()
    (shelf.folder / "a.md").unlink()
    assert await documents.refresh() == Refreshed(removed=1)
    assert await sources(documents, "tea") == ["b.md"]
    await documents.aclose()


async def test_a_lost_index_is_made_anew(shelf: Shelf) -> None:
    shelf.write("a.md", "green tea")
    documents = shelf.open()
    await documents.refresh()
    await documents.aclose()
    for path in (shelf.root / "index").glob("documents.db*"):
        path.unlink()
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=1)
    assert await sources(documents, "tea") == ["a.md"]
    await documents.aclose()


async def test_an_index_that_was_cut_while_it_was_made_is_finished(shelf: Shelf) -> None:
    shelf.write("a.md", "".join(f"# Part {number}\nwords of it\n" for number in range(6)))
    documents = shelf.open()
    await documents.refresh()
    await documents._index.forget("a.md 4", Scope())
    await documents.aclose()
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=1)
    assert await documents._index.count() == 6
    await documents.aclose()


async def test_what_cannot_be_read_is_told_and_stops_nothing(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.write("broken.pdf", b"no PDF at all")
    shelf.write("good.md", "green tea")
    shelf.write("huge.txt", b"x" * (4 * 1024 * 1024 + 1))
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=1, failed=2)
    assert await documents.refresh() == Refreshed()
    assert sorted(documents.troubles) == ["broken.pdf", "huge.txt"]
    assert caplog.text.count("file left out (name=broken.pdf): it is damaged") == 1
    shelf.write("broken.pdf", pdf(["now readable"]))
    assert await documents.refresh() == Refreshed(indexed=1)
    assert sorted(documents.troubles) == ["huge.txt"]
    await documents.aclose()


async def test_what_was_unreadable_is_tried_again_after_a_restart(shelf: Shelf) -> None:
    shelf.write("broken.pdf", b"no PDF at all")
    for _ in range(2):
        documents = shelf.open()
        assert await documents.refresh() == Refreshed(failed=1)
        await documents.aclose()


async def test_links_hidden_files_and_programs_are_left_alone(shelf: Shelf) -> None:
    secret = shelf.root / "secret.md"
    secret.write_text("the secret word")
    (shelf.folder / "link.md").symlink_to(secret)
    (shelf.folder / "outside").symlink_to(shelf.root)
    shelf.write(".hidden.md", "hidden word")
    shelf.write(".git/notes.md", "hidden word")
    shelf.write("run.sh", "echo word")
    os.mkfifo(shelf.folder / "pipe.txt")
    documents = shelf.open()
    assert await documents.refresh() == Refreshed()
    await documents.aclose()


async def test_without_a_folder_nothing_is_made(shelf: Shelf) -> None:
    shelf.folder.rmdir()
    documents = shelf.open()
    assert await documents.refresh() == Refreshed()
    assert not (shelf.root / "index").exists()
    await documents.aclose()


async def test_long_and_strange_names_are_kept_apart(shelf: Shelf) -> None:
    name = "x" * 200
    shelf.write(f"{name}1.md", "first")
    shelf.write(f"{name}2.md", "second")
    shelf.write("naïve 文書 #page=7.md", "third")
    documents = shelf.open()
    assert await documents.refresh() == Refreshed(indexed=3)
    assert await documents._index.count() == 3
    await documents.aclose()


async def test_it_looks_again_and_outlives_a_disk_that_fails(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = shelf.open()
    seen: list[str] = []

    async def refresh() -> Refreshed:
        seen.append("look")
        if len(seen) == 1:
            raise MemoryUnavailable("the disk is gone")
        raise KeyboardInterrupt

    monkeypatch.setattr(documents, "refresh", refresh)
    with pytest.raises(KeyboardInterrupt):
        await documents.run()
    assert len(seen) == 2
    assert shelf.clock.slept_s == [LOOK_S]
    await documents.aclose()


async def test_a_pin_that_is_called_by_its_name_comes_first(shelf: Shelf) -> None:
    shelf.write("pins.md", "pump, Pumpe: PB0\nlamp: PB1\n")
    shelf.write("pump.md", "# Pump\nThe pump draws two amperes and the Pumpe is blue.")
    documents = shelf.open()
    await documents.refresh()
    [first, second, *_] = await documents.search("Pumpe", 5)
    assert (first.content, first.source) == ("pump = Pumpe: pin PB0", "pins.md")
    assert first.provenance is Provenance.TOOL
    assert second.source in {"pump.md", "pins.md"}
    assert len(await documents.search("Pumpe", 1)) == 1
    await documents.aclose()
