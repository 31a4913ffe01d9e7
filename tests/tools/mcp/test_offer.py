import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.mcp.lines import Offered
from agent.tools.mcp.offer import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, ToolOffer, offers_of

FIELDS: dict[str, object] = {"place": {"type": "string", "title": "Place", "description": "Where"}}


def definition(description: object = "Tell it.", **schema: object) -> str:
    wanted = {"type": "object", "properties": FIELDS, "title": "x", **schema}
    return json.dumps({"name": "tell", "description": description, "inputSchema": wanted})


def offered(name: str, text: str, where: str = "here") -> ToolOffer:
    [offer] = offers_of("garden", where, [Offered(name, text)])
    return offer


def test_what_is_shown_is_short_and_has_no_titles() -> None:
    offer = offered("Tell/It.now-please", definition("Tell\nit.\u202e\x1b[1m " + "much " * 500))
    assert (offer.tool, offer.name) == ("Tell/It.now-please", "mcp_garden_tell_it_now_please")
    assert offer.description.startswith("Tell it.[1m much")
    assert len(offer.description) == MAX_DESCRIPTION_CHARS
    assert offer.schema == {
        "type": "object",
        "properties": {"place": {"type": "string", "description": "Where"}},
    }
    assert not offer.trouble


def test_what_no_service_takes_is_left_out_with_the_reason() -> None:
    trouble = "in properties.place.type, 'strin' is not valid"
    [invalid] = offers_of("garden", "here", [Offered("tell", definition(), trouble)])
    assert invalid.trouble == f"the description of its arguments is invalid: {trouble}"
    odd = offered("tell", definition(properties={"the place": {"type": "string"}}))
    assert odd.trouble == "model services refuse the name of its argument 'the place'"


@pytest.mark.parametrize(
    ("hints", "repeats"),
    [
        # As Playwright's server describes `browser_click`, which takes `ref=e12`
        ({"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}, False),
        ({"destructiveHint": False, "openWorldHint": False}, False),
        ({"idempotentHint": False}, False),
        ({"idempotentHint": True, "destructiveHint": True}, True),
        ({"readOnlyHint": True}, True),
        ({"idempotentHint": "true"}, False),
        (None, False),
        ([], False),
    ],
)
def test_only_a_server_knows_if_a_call_is_the_same_act_again(hints: object, repeats: bool) -> None:  # noqa: FBT001 - a case of a table
    told = json.loads(definition()) | {"annotations": hints}
    assert offered("tell", json.dumps(told)).repeats is repeats


def test_an_argument_may_be_called_title() -> None:
    offer = offered("tell", definition(properties={"title": {"type": "string"}}))
    assert offer.schema["properties"] == {"title": {"type": "string"}}


def test_any_other_word_or_place_is_another_tool() -> None:
    every = [
        offered("tell", definition()),
        offered("tell", definition("Tell it")),
        offered("tell", definition(required=["place"])),
        offered("tell", definition(), "there"),
    ]
    assert len({one.digest for one in every}) == len(every)
    assert offered("tell", definition()) == every[0]


@pytest.mark.parametrize(
    ("name", "text", "trouble"),
    [
        ("", definition(), "its name has invalid characters"),
        ("tell it", definition(), "its name has invalid characters"),
        ("tell\u0131", definition(), "its name has invalid characters"),
        ("t" * 60, definition(), f"longer than {MAX_NAME_CHARS}"),
        ("tell", "", "bytes describe it"),
        ("tell", definition(type="array"), "its arguments are not an object"),
        ("tell", json.dumps({"inputSchema": None}), "its arguments are not an object"),
        ("tell", definition(properties=5), "its arguments are not described"),
        ("tell", definition(properties={"a": True}), "its arguments are not described"),
        ("tell", definition(properties={"a\u200b": {}}), "invisible characters"),
        ("tell", definition(properties={"a": {"enum": ["on\u202e"]}}), "invisible characters"),
        ("tell", definition(enum=["x" * 5000]), "take more than 4096 bytes"),
        ("tell", definition(**json.loads('{"a":' * 20 + "1" + "}" * 20)), "nested too deeply"),
    ],
)
def test_what_cannot_be_shown_is_no_tool(name: str, text: str, trouble: str) -> None:
    offer = offered(name, text)
    assert trouble in offer.trouble
    assert (offer.digest, offer.description, offer.schema) == ("", "", {})


def test_of_two_with_one_name_only_the_first_can_be_used() -> None:
    names = ["tell.it", "tell_it", "tell.it"]
    first, second = offers_of("garden", "", [Offered(name, definition()) for name in names])
    assert (first.trouble, second.trouble) == (
        "",
        "another tool of the server has the same name",
    )


@given(st.text(max_size=30), st.text(max_size=100), st.dictionaries(st.text(max_size=8), st.text()))
def test_nothing_that_a_server_says_is_shown_unclean(
    name: str, description: str, fields: dict[str, str]
) -> None:
    properties = {key: {"description": value} for key, value in fields.items()}
    offer = offered(name, definition(description, properties=properties))
    shown = [offer.name, offer.description, *_texts(offer.schema)]
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    chars = {char for text in shown for char in text} - {"\u200d"}
    assert not [char for char in chars if unicodedata.category(char) in hidden]


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for part in value.values() for text in _texts(part))]
    return [value] if isinstance(value, str) else []
