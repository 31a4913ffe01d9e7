import pytest

from agent.providers.program.place import MAX_STEPS, parse

LINE = {
    "type": "item.completed",
    "is_error": False,
    "count": 3,
    "item": {"type": "agent_message", "text": "hello"},
    "choices": [{"text": "first"}, {"text": "second"}],
    "nothing": None,
}


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("type", "item.completed"),
        ("item.text", "hello"),
        ("choices[1].text", "second"),
        ("[type=item.completed].item[type=agent_message].text", "hello"),
        ("[is_error=false].count", 3),
        ("[count=3].type", "item.completed"),
        ("[nothing=null].count", 3),
        ("[type=other].item.text", None),
        ("[missing=x].item", None),
        ("choices[7].text", None),
        ("choices.text", None),
        ("item[0]", None),
        ("type.text", None),
        ("nothing.more", None),
        ("", None),
    ],
)
def test_a_place_leads_to_its_value_or_nowhere(place: str, found: object) -> None:
    assert parse(place).find(LINE) == found
    assert parse(place).find([LINE]) is None


def test_a_list_may_be_the_whole() -> None:
    assert parse("[1].text").find([{}, {"text": "here"}]) == "here"


@pytest.mark.parametrize(
    "text",
    [
        "item..text",
        ".item",
        "item.",
        "item text",
        "item[",
        "item[x]",
        "a.[0]",
        "[a=[b]]",
        "1a",
        "a]b",
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no place in JSON"):
        parse(text)


def test_a_place_has_an_end() -> None:
    assert parse("a" + ".a" * (MAX_STEPS - 1))
    with pytest.raises(ValueError, match="at most"):
        parse("a" + ".a" * MAX_STEPS)
