import itertools

from hypothesis import given
from hypothesis import strategies as st

from agent.memory.chunks import (
    CHUNK_CHARS,
    MAX_HEADING_CHARS,
    OVERLAP_CHARS,
    DocumentSection,
    chunks_of,
    markdown_sections,
    page_sections,
    pieces,
)

NOTES = """\
before any heading

# Pump
The pump is wired to PB0.

## Limits ##
At most 10 s.

```
# not a heading
```

# Lamp
Green.
"""


def test_markdown_is_cut_at_its_headings_which_stay_with_the_text() -> None:
    chunks = list(chunks_of(markdown_sections(NOTES)))
    assert [chunk.heading for chunk in chunks] == ["", "Pump", "Pump > Limits", "Lamp"]
    assert chunks[2].content == "Pump > Limits\nAt most 10 s.\n\n```\n# not a heading\n```"
    assert chunks[0].content == "before any heading"


def test_pages_are_numbered_and_empty_ones_left_out() -> None:
    chunks = list(chunks_of(page_sections(["first page", " \n", "...", "fourth page"])))
    assert [(chunk.page, chunk.text) for chunk in chunks] == [(1, "first page"), (4, "fourth page")]


def test_long_text_is_cut_between_sentences_and_overlaps() -> None:
    text = " ".join(f"Sentence number {number} is about the pump." for number in range(60))
    made = list(pieces(text))
    assert len(made) > 3
    assert all(piece.endswith(".") for piece in made)
    for piece, following in itertools.pairwise(made):
        shared = following[: OVERLAP_CHARS // 2]
        assert shared in piece


def test_a_sentence_on_a_border_is_whole_in_one_piece() -> None:
    words = [f"word{number}" for number in range(400)]
    made = list(pieces(" ".join(words)))
    for first, second in itertools.pairwise(words):
        assert any(f"{first} {second}" in piece for piece in made)


def test_a_heading_without_end_is_cut() -> None:
    [section] = [one for one in markdown_sections(f"# {'x' * 5000}\ntext") if one.text]
    assert len(section.heading) == MAX_HEADING_CHARS


@given(st.text(max_size=3000) | st.text("ab \n.。", max_size=6000))
def test_any_text_is_cut_to_the_end_and_nothing_is_too_long(text: str) -> None:
    made = list(pieces(text))
    assert all(0 < len(piece) <= CHUNK_CHARS for piece in made)
    kept = "".join(char for char in text if char.isalnum())
    joined = "".join(made)
    assert all(char in joined for char in set(kept))


@given(st.text(max_size=2000))
def test_no_line_of_any_markdown_is_lost(text: str) -> None:
    sections = list(markdown_sections(text))
    assert sections
    assert all(isinstance(one, DocumentSection) for one in sections)
    told = "\n".join(f"{one.heading}\n{one.text}" for one in sections)
    for line in text.splitlines():
        assert line.strip(" \t#")[:MAX_HEADING_CHARS] in told or "#" in line
