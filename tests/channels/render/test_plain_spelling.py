import pytest

from agent.channels.render.plain import to_plain


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("**a** `b`", "a b"),
        ("[t](https://e.org)", "t (https://e.org)"),
        ("<https://e.org>", "https://e.org"),
        ("[a@e.org](mailto:a@e.org)", "a@e.org"),
        ("![a cat](https://e.org/c.png)", "a cat (https://e.org/c.png)"),
        ("[](https://e.org)", "https://e.org"),
        ("> a\n> b\n\nc", "> a\n> b\n\nc"),
        ("> [t](https://e.org)\n> b", "> t (https://e.org)\n> b"),
        ("- a\n  - b\n    - c\n- d", "• a\n  • b\n    • c\n• d"),
        ("```\n  x\n```", "  x"),
        ("", ""),
    ],
)
def test_plain_text_says_all_that_the_marks_said(markdown: str, plain: str) -> None:
    assert to_plain(markdown) == plain
