"""Letters as mail programs write them, in `client_letters.toml`, and letters made to do harm."""

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.approvals import answer_in
from agent.channels.email.quotes import own_lines, split_quotes
from agent.tools.page_program import PageReader

LETTERS = tomllib.loads((Path(__file__).parent / "client_letters.toml").read_text("utf-8"))[
    "letter"
]
NAMES = ("barnacle@example.org", "Barnacle")
ASKED = """\
The pump runs for 30 seconds.
board_output {"pin": "pump", "seconds": 30}
Why I ask: a letter asks for it.
To approve, answer yes ab3d; to refuse, no ab3d. You have two minutes."""
ANSWER = "yes ab3d"
# What a thread may be busy with a letter that a stranger wrote
MAX_SPLIT_S = 1.0


def text_of(letter: dict[str, str]) -> str:
    marked = "\n".join(f"> {line}" for line in ASKED.splitlines())
    is_html = letter.get("form") == "html"
    own, asked = (
        part.replace("\n", "<br>") if is_html else part for part in (letter["own"], ASKED)
    )
    text = letter["text"].replace("{own}", own).replace("{> }", marked).replace("{as is}", asked)
    if not is_html:
        return text
    reader = PageReader("")
    reader.feed(text)
    reader.close()
    return reader.text


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("letter", LETTERS, ids=lambda one: f"{one['client']}, {one['language']}")
def test_own_words_are_told_from_repeated_ones(letter: dict[str, str]) -> None:
    own, quoted = split_quotes(text_of(letter), NAMES)
    assert words(own) == words(letter.get("kept", letter["own"]))
    assert ("To approve" in quoted) is (letter["text"].strip() != "{own}") or not quoted


@pytest.mark.parametrize(
    "letter",
    [one for one in LETTERS if one["own"] == ANSWER],
    ids=lambda one: f"{one['client']}, {one['language']}",
)
def test_an_answer_is_found_whatever_stands_around_it(letter: dict[str, str]) -> None:
    assert answer_in(own_lines(split_quotes(text_of(letter), NAMES)[0])) == ANSWER


def test_there_are_letters_of_twenty_programs_in_eight_languages() -> None:
    assert len(LETTERS) >= 60
    assert len({one["client"] for one in LETTERS}) >= 20
    assert len({one["language"] for one in LETTERS}) >= 8


@pytest.mark.parametrize(
    ("text", "own", "quoted"),
    [
        ("yes abcd\n\nOn Fri, Nov 20, 2026 at 7 PM Barnacle <b@x> wrote:\n> q\n", "yes abcd", "On"),
        ("ja\n\nAm Freitag, den 20. November schrieb Barnacle <b@x>:\n> q", "ja", "Am"),
        ("yes\n-- \nAnna\n+49 1", "yes", ""),
        ("yes\n-- \nAnna\n> q", "yes", "> q"),
        ("> was it on?\nIt was.\n> and?\nNot now.", "> was it on?\nIt was.\n> and?\nNot now.", ""),
        ("Hello\n> a quote\nand more", "Hello\n> a quote\nand more", ""),
        ("Set it to this:\n> 20 degrees", "Set it to this:", "> 20"),
        ("no quotes\nat all", "no quotes\nat all", ""),
        ("", "", ""),
    ],
)
def test_what_is_not_sure_stays(text: str, own: str, quoted: str) -> None:
    found = split_quotes(text, NAMES)
    assert found[0] == own
    assert found[1].startswith(quoted) if quoted else not found[1]


HOSTILE = st.lists(
    st.sampled_from(
        [
            "> ",
            ">",
            "\n",
            " ",
            "On 20.11.2026 19:26",
            "<a@b>",
            ":",
            "From: ",
            "-",
            "_",
            "Thanks,",
            "/",
        ]
    ),
    max_size=200,
).map("".join)


@given(HOSTILE)
def test_no_word_is_invented(text: str) -> None:
    own, quoted = split_quotes(text, NAMES)
    assert set(words(own)) | set(words(quoted)) <= set(words(text))


@pytest.mark.parametrize(
    "piece",
    [
        "> ",
        ">",
        " ",
        "\n",
        "-",
        "_",
        "On ",
        "On x\n",
        "Am x schrieb ",
        "From: x\n",
        ": ",
        "<",
        "a@",
        "1:",
    ],
)
def test_no_letter_keeps_it_busy(piece: str) -> None:
    # A library that was tried needs minutes for a thousand of the first
    text = piece * (32_000 // len(piece)) + "!"
    begun_s = time.process_time()
    split_quotes(text, NAMES)
    assert time.process_time() - begun_s < MAX_SPLIT_S
