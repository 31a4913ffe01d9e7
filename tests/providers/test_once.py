from agent.providers.once import Once


def counted() -> tuple[list[str], Once[list[str], str]]:
    seen: list[str] = []

    def joined(words: list[str]) -> str:
        seen.append(" ".join(words))
        return seen[-1]

    return seen, Once(joined, most=3, is_kept=lambda text: len(text) < 10)


def test_the_same_value_is_worked_on_once() -> None:
    seen, joined = counted()
    words = ["a", "b"]
    assert [joined(words), joined(words)] == ["a b", "a b"]
    assert seen == ["a b"]


def test_another_value_that_looks_the_same_is_another_one() -> None:
    seen, joined = counted()
    one, other = ["a"], ["a"]
    assert joined(one) == joined(other) == "a"
    assert seen == ["a", "a"]


def test_a_value_that_nobody_else_has_any_more_is_not_mistaken_for_another() -> None:
    _, joined = counted()
    # Each would take the place in memory of the one before it
    assert [joined([f"{number}"]) for number in range(100)] == [str(n) for n in range(100)]


def test_no_more_is_kept_than_allowed() -> None:
    seen, joined = counted()
    values = [[f"{number}"] for number in range(4)]
    for value in values:
        joined(value)
    assert len(joined._made) == 1
    joined(values[3])
    joined(values[0])
    assert seen == ["0", "1", "2", "3", "0"]


def test_what_is_large_is_made_again() -> None:
    seen, joined = counted()
    long = ["much more", "than that"]
    assert joined(long) == joined(long)
    assert len(seen) == 2


def test_many_are_made_in_their_order() -> None:
    seen, joined = counted()
    one, two, three = ["a"], ["b"], ["much longer than that"]
    joined(two)
    assert joined.each([one, two, three, one]) == ["a", "b", three[0], "a"]
    assert joined.each([one, two]) == ["a", "b"]
    assert set(seen) == {"a", "b", three[0]}
