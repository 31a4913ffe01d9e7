from agent.channels.render.parser import MAX_READ_CHARS, blocks, read
from agent.channels.render.styled import Style


def test_what_is_nested_too_deeply_is_shown_as_it_is() -> None:
    text = f"{'>' * 200} at the bottom"
    assert read(text).text == text


def test_a_text_of_which_nothing_is_visible_is_shown_as_it_is() -> None:
    assert read("[a]: https://e.org").text == "[a]: https://e.org"


def test_a_huge_text_is_not_read_but_shown() -> None:
    text = "*a* " * (MAX_READ_CHARS // 4 + 1)
    assert read(text).text == text.strip()


def test_control_characters_do_not_come_through() -> None:
    assert read("a\x07b\x1b[31m `c\x00`").text == "ab[31m c\ufffd"


def test_a_wide_table_gives_up_its_columns_and_keeps_its_cells() -> None:
    shown = read(f"| a | b |\n|--|--|\n| {'x' * 60} | y |")
    assert shown.text == f"a | b\n{'x' * 60} | y"
    assert shown.spans == ()


def test_blocks_know_the_lines_they_come_from() -> None:
    found = blocks("# a\r\n\r\ntext\r\nmore\r\n\r\n- x\r\n- y\r\n")
    assert [block.source for block in found] == ["# a", "text\nmore", "- x\n- y"]


def test_styles_nest() -> None:
    shown = read("**a *b***")
    assert {(s.style, shown.text[s.start : s.end]) for s in shown.spans} == {
        (Style.BOLD, "a b"),
        (Style.ITALIC, "b"),
    }


def test_code_in_a_list_stands_apart() -> None:
    shown = read("1. ```\n   x\n   ```\n2. a\n   ```\n   y\n   ```\n   b")
    assert shown.text == "1.\n\nx\n\n2. a\n\ny\n\n  b"
    assert [shown.text[s.start : s.end] for s in shown.spans] == ["x", "y"]
