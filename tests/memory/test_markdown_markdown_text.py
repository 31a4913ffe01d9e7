import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.markdown import CUT_OFF, Page, parse, render
from agent.messages import Provenance

PAGE = Page("core", 5.0)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(["\n", "  ", "- ", "**", ": ", "<!-- barnacle {", "} -->", "x", CUT_OFF, "# "])
).map("".join)
NAMES = st.none() | TEXTS
ENTRIES = st.builds(
    MemoryEntry,
    st.integers(1, 2**63 - 1),
    TEXTS,
    TEXTS,
    TEXTS,
    st.sampled_from(Provenance),
    st.builds(Scope, NAMES, NAMES, NAMES, NAMES),
    st.floats(0, 1e11),
    st.floats(0, 1e11),
    importance=st.floats(0, 1),
    pinned=st.booleans(),
    superseded_by=st.none() | st.integers(1, 2**63 - 1),
    source=TEXTS,
)


@given(st.lists(ENTRIES, max_size=4))
def test_whatever_is_rendered_reads_back_the_same(entries: list[MemoryEntry]) -> None:
    text = "# Memory\n\n" + "".join(map(render, entries))
    assert list(parse(text, PAGE)) == entries
    assert not Page.is_cut_off(text)


@given(ENTRIES, st.integers(3))
def test_half_of_an_item_is_none(entry: MemoryEntry, lost: int) -> None:
    text = render(entry)
    cut = text[: -min(lost, len(text))]
    assert list(parse(cut, PAGE)) == []


@pytest.mark.parametrize(
    ("after", "content"),
    [
        ("- **k**: one\n  two\n\n", "one\ntwo"),
        ("- **k**: one\n\n", "one"),
        ("- **k**: one\n  two\n  three\n", "one\ntwo\nthree"),
        ("- **k**: one\n  two\n  three", "one\ntwo\nthree"),
        ("- **k**: one\n  two\n  three and four", "one\ntwo\nthree and four"),
    ],
)
def test_the_last_item_that_a_person_has_shortened_counts(after: str, content: str) -> None:
    kept = MemoryEntry(1, "k", "one\ntwo\nthree", "core", Provenance.OWNER, Scope("mei"), 1.0, 1.0)
    comment, _, _ = render(kept).partition("\n")
    text = f"{comment}\n{after}"
    assert list(parse(text, PAGE)) == [replace(kept, content=content)]
    assert not Page.is_cut_off(text)


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    list(parse(text, PAGE))


def test_an_editor_that_takes_trailing_spaces_takes_no_line() -> None:
    kept = MemoryEntry(1, "k", "one\n\ntwo", "core", Provenance.OWNER, Scope("mei"), 1.0, 1.0)
    text = "\n".join(line.rstrip() for line in render(kept).split("\n"))
    assert list(parse(text, PAGE)) == [kept]


def test_an_editor_that_indents_by_tabs_takes_no_line() -> None:
    kept = MemoryEntry(1, "k", "one\n\ttwo", "core", Provenance.OWNER, Scope("mei"), 1.0, 1.0)
    text = render(kept).replace("\n  ", "\n\t")
    assert list(parse(text, PAGE)) == [kept]


@pytest.mark.parametrize("around", ["{} ", " {}", "{}\t"])
def test_spaces_around_a_comment_make_nothing_everybodys(around: str) -> None:
    kept = MemoryEntry(1, "k", "one", "core", Provenance.OWNER, Scope("mei"), 1.0, 1.0)
    comment, _, item = render(kept).partition("\n")
    assert list(parse(f"{around.format(comment)}\n{item}", PAGE)) == [kept]


def test_what_a_person_changes_in_an_item_counts() -> None:
    kept = MemoryEntry(1, "k", "green", "core", Provenance.OWNER, Scope("mei"), 1.0, 1.0)
    text = render(kept).replace("green", "blue")
    assert list(parse(text, PAGE)) == [replace(kept, content="blue")]


@pytest.mark.parametrize("comment", ["{", "[]", '{"id": "x", "pinned": {}, "superseded_by": []}'])
def test_a_comment_of_nonsense_is_a_memory_of_everybodys(comment: str) -> None:
    (only,) = parse(f"<!-- barnacle {comment} -->\n- **a**: b\n", PAGE)
    assert (only.key, only.content, only.scope) == ("a", "b", Scope())
    assert only.provenance is Provenance.WEB


def test_an_item_without_a_key_gets_one_and_the_time_of_what_stands_before() -> None:
    stamped = MemoryEntry(1, "k", "green", "core", Provenance.OWNER, Scope(), 7.0, 7.0)
    first, _, last = parse(f"- one two\n\n{render(stamped)}- three four\n", PAGE)
    assert first.key.startswith("one-two-")
    assert (first.updated_at_s, last.updated_at_s) == (7.0, 7.0)
    (alone,) = parse("- one\n", PAGE)
    assert (alone.updated_at_s, alone.category) == (5.0, "core")


@pytest.mark.parametrize("mark", ["-", "*", "+"])
def test_an_item_has_any_mark_that_markdown_knows(mark: str) -> None:
    ours = replace(next(parse("- **tea**: likes tea\n\n", PAGE)), memory_id=3)
    text = render(ours).replace("\n- **", f"\n{mark} **") + f"{mark} by hand\n\n* * *\n- - -\n"
    first, second = parse(text, PAGE)
    assert first == ours
    assert second.content == "by hand"
