from agent.providers.offline.rehearsal_lines import rehearsal_lines


def test_words_and_drawing_follow_one_another() -> None:
    mark = "[IMAGE:pictures/x.png]"
    assert list(rehearsal_lines({"rehearsal": "Twice.", "shown_by": mark})) == ["Twice.", mark]


def test_what_was_not_rehearsed_has_no_lines() -> None:
    assert not list(rehearsal_lines({"watching": "x", "rehearsal": "", "shown_by": 3}))
