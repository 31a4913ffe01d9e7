from agent.channels.render.styled import Style, Styled, StyledSpan, joined, utf8_bytes, utf16_units


def test_a_cut_takes_the_styles_that_reach_into_it() -> None:
    styled = Styled("abcdef", (StyledSpan(0, 3, Style.BOLD), StyledSpan(4, 6, Style.LINK, "x")))
    assert styled.cut(2, 5) == Styled(
        "cde", (StyledSpan(0, 1, Style.BOLD), StyledSpan(2, 3, Style.LINK, "x"))
    )
    assert styled.cut(3, 4) == Styled("d")


def test_joined_texts_keep_their_styles() -> None:
    bold = Styled("ab", (StyledSpan(0, 1, Style.BOLD),))
    assert joined([bold, bold], "--") == Styled(
        "ab--ab", (StyledSpan(0, 1, Style.BOLD), StyledSpan(4, 5, Style.BOLD))
    )


def test_sizes_are_those_of_the_wire() -> None:
    assert utf16_units("a文👍") == 4
    assert utf8_bytes("a文👍") == 8
