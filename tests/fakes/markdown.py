"""Markdown as models write it, with everything in it that is easily torn."""

from hypothesis import strategies as st

# Each is one sign to a person, of several code points or UTF-16 units
SIGNS = (
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "👍🏽",
    "❤️",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "é",
    "한",
    "நி",
    "ש",
    "文",
    "𝒳",
)
ADDRESS = "https://example.org/?x=1&y=2"
_LETTERS = st.sampled_from("abcdefghij KLM 0123456789 .,;:!?-#*_`[]()<>&|~\\'\"/=+")
_WORD = st.text(_LETTERS, min_size=1, max_size=12) | st.lists(
    st.sampled_from(SIGNS), min_size=1, max_size=4
).map("".join)
_WORDS = st.lists(_WORD, min_size=1, max_size=30).map(" ".join)
_MARKED = st.one_of(
    _WORDS,
    _WORDS.map("**{}**".format),
    _WORDS.map("*{}*".format),
    _WORDS.map("~~{}~~".format),
    _WORDS.map("`{}`".format),
    _WORDS.map(lambda words: f"[{words}]({ADDRESS})"),
    st.just("https://example.org <https://example.net/a_b_c>"),
)
_LINE = st.lists(_MARKED, min_size=1, max_size=4).map(" ".join)
_LINES = st.lists(_LINE, min_size=1, max_size=4)
_BLOCK = st.one_of(
    _LINES.map("\n".join),
    _LINE.map("## {}".format),
    _LINES.map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    _LINES.map(
        lambda lines: "\n".join(f"{n}. {line}\n   - {line}" for n, line in enumerate(lines))
    ),
    _LINES.map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    _LINES.map(lambda lines: "```python\n" + "\n".join(f"    {line}" for line in lines) + "\n```"),
    _LINES.map(lambda lines: "| a | b |\n|---|---|\n" + "\n".join(f"| 1 | {x} |" for x in lines)),
)

answers = st.lists(_BLOCK, min_size=1, max_size=6).map("\n\n".join) | st.text(max_size=600)
