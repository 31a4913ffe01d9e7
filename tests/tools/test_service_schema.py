import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import service_schema
from agent.tools.service_schema import (
    CONSERVATIVE,
    FULL,
    GEMINI_PLAIN,
    MAX_NODES,
    SchemaRules,
    cleaned,
)

ALL_RULES = (FULL, CONSERVATIVE, GEMINI_PLAIN)


def argument(schema: object, rules: SchemaRules, **beside: object) -> object:
    """What becomes of the schema of one argument."""
    whole = {"type": "object", "properties": {"x": schema}, **beside}
    properties = cleaned(whole, rules)["properties"]
    assert isinstance(properties, dict)
    return properties["x"]


@pytest.mark.parametrize("rules", ALL_RULES)
def test_a_reference_is_put_in_place_and_keeps_what_stands_beside_it(rules: SchemaRules) -> None:
    pin = {"type": "string", "enum": ["led", "pump"], "description": "A pin."}
    found = argument(
        {"$ref": "#/$defs/a~1b", "description": "The pump."}, rules, **{"$defs": {"a/b": pin}}
    )
    assert found == {**pin, "description": "The pump."}


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize("reference", ["#/$defs/missing", "https://example.org/x", "#/$defs/loop"])
def test_a_reference_to_nothing_or_to_itself_leaves_what_stands_beside_it(
    rules: SchemaRules, reference: str
) -> None:
    loop = {"$ref": "#/$defs/loop"}
    found = argument({"$ref": reference, "description": "d"}, rules, **{"$defs": {"loop": loop}})
    assert found == {"description": "d"}


def test_a_tree_of_itself_is_unfolded_once() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    found = argument({"$ref": "#/$defs/node"}, FULL, **{"$defs": {"node": node}})
    assert found == {"type": "object", "properties": {"next": {}}}


def test_references_that_double_at_each_level_stay_small() -> None:
    levels = {
        str(level): {"properties": {name: {"$ref": f"#/$defs/{level + 1}"} for name in "ab"}}
        for level in range(40)
    }
    schema = {"$ref": "#/$defs/0", "$defs": levels}
    assert len(json.dumps(cleaned(schema, FULL))) < 100 * MAX_NODES


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize("key", ["default", "enum", "examples"])
def test_data_is_not_taken_for_a_schema(rules: SchemaRules, key: str) -> None:
    data = [{"$ref": "#/x", "const": 1, "minimum": 2, "anyOf": [{"type": "null"}]}]
    found = argument({"type": "array", key: data}, rules)
    assert isinstance(found, dict)
    assert found.get(key, data) == data


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "array", "items": True},
        {"type": "array", "items": None},
        {"type": "array", "items": []},
    ],
)
def test_a_list_of_anything_says_so(rules: SchemaRules, schema: object) -> None:
    assert argument(schema, rules) == {"type": "array", "items": {}}


def test_a_list_that_may_be_null_has_entries_too() -> None:
    assert argument({"type": ["array", "null"]}, FULL) == {"type": ["array", "null"], "items": {}}


@pytest.mark.parametrize("rules", ALL_RULES)
def test_entries_by_their_place_become_entries_of_any_place(rules: SchemaRules) -> None:
    x, y = {"type": "number", "title": "x"}, {"type": "string"}
    found = argument({"type": "array", "items": [x, y, x]}, rules)
    assert found == {
        "type": "array",
        "items": {"anyOf": [x, y]},
        "description": "(in this order: x, string, x)",
    }
    assert argument({"type": "array", "items": [y, y]}, rules) == {"type": "array", "items": y}


def test_entries_by_their_place_in_the_newer_form_where_it_is_refused() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}
    assert argument({**pair, "items": False}, GEMINI_PLAIN) == {
        "type": "array",
        "items": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "description": "(in this order: number, string)",
    }
    assert argument(pair, FULL) == {**pair, "items": {}}


@pytest.mark.parametrize("rules", ALL_RULES)
def test_what_is_no_word_of_json_schema_is_left_out(rules: SchemaRules) -> None:
    noisy = {"type": "string", "x-order": 1, "example": "a", "readOnly": True, "xml": {}}
    assert argument(noisy, rules, **{"x-tool": 1, "$comment": "c"}) == {"type": "string"}
    whole = cleaned({"type": "object", "properties": {}, "x-tool": 1, "required": None}, rules)
    assert whole == {"type": "object", "properties": {}}


def test_an_argument_may_have_the_name_of_a_keyword() -> None:
    schema = {
        "type": "object",
        "properties": {"format": {"type": "string"}, "$ref": {"type": "string"}},
    }
    assert cleaned(schema, GEMINI_PLAIN) == schema


def test_a_limit_that_a_service_refuses_is_told_in_words() -> None:
    duty = {"type": "number", "minimum": 0, "exclusiveMaximum": 100, "description": "Duty."}
    assert argument(duty, GEMINI_PLAIN) == {
        "type": "number",
        "description": "Duty. (at least 0, less than 100)",
    }
    assert argument({"type": "integer", "maximum": 3}, GEMINI_PLAIN) == {
        "type": "integer",
        "description": "(at most 3)",
    }
    assert argument(duty, FULL) == duty


@pytest.mark.parametrize(
    "optional",
    [
        {"type": ["integer", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"const": None}, {"type": "integer"}]},
    ],
)
def test_what_may_be_null_becomes_nullable_where_null_is_no_type(optional: object) -> None:
    assert argument(optional, GEMINI_PLAIN) == {"type": "integer", "nullable": True}


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (
            {"type": "integer", "enum": [1, 2], "description": "Gain."},
            {"type": "integer", "description": "Gain. (one of 1, 2)"},
        ),
        ({"enum": ["a", "b", None]}, {"enum": ["a", "b"], "nullable": True}),
        (
            {"type": ["integer", "null"], "enum": [1, 2, None]},
            {"type": "integer", "nullable": True, "description": "(one of 1, 2)"},
        ),
        (
            {"oneOf": [{"const": n, "type": "integer"} for n in (1, 2)]},
            {"type": "integer", "description": "(one of 1, 2)"},
        ),
    ],
)
def test_an_enumeration_of_anything_but_texts_is_told_where_it_is_refused(
    choice: dict[str, object], told: object
) -> None:
    assert argument(choice, GEMINI_PLAIN) == told
    assert "enum" in argument(choice, FULL)


def test_several_types_become_variants_where_a_type_is_one_word() -> None:
    assert argument({"type": ["integer", "string", "null"]}, GEMINI_PLAIN) == {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "nullable": True,
    }
    assert argument({"type": ["integer", "null"]}, FULL) == {"type": ["integer", "null"]}


@pytest.mark.parametrize("rules", ALL_RULES)
def test_variants_that_are_single_values_become_an_enumeration(rules: SchemaRules) -> None:
    variants = [{"const": "on", "type": "string"}, {"const": "off", "type": "string"}]
    assert argument({"oneOf": variants}, rules) == {"type": "string", "enum": ["on", "off"]}


def test_variants_that_are_no_values_stay() -> None:
    variants = [{"type": "integer"}, {"type": "string", "enum": ["all"]}]
    assert argument({"anyOf": variants}, CONSERVATIVE) == {"anyOf": variants}


def test_the_parts_of_all_of_are_put_together() -> None:
    parts = [
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["a", "b"], "title": "t"},
    ]
    found = cleaned({"type": "object", "allOf": parts}, CONSERVATIVE)
    assert found == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "title": "t",
    }


@pytest.mark.parametrize(
    "schema", [{}, {"type": "string"}, {"$ref": "#"}, {"properties": True}, {"anyOf": []}]
)
def test_arguments_are_always_an_object(schema: dict[str, object]) -> None:
    assert cleaned(schema, FULL) == {"type": "object"}


_NAMES = st.sampled_from(
    ["type", "properties", "items", "anyOf", "allOf", "$ref", "enum", "default", "minimum", "const"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["#", "#/items", "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_NAMES, _JSON, max_size=5), st.sampled_from(ALL_RULES))
def test_whatever_comes_is_cleaned_without_being_changed(
    schema: dict[str, object], rules: SchemaRules
) -> None:
    before = copy.deepcopy(schema)
    found = cleaned(schema, rules)
    assert schema == before
    json.dumps(found)
    assert found["type"] == "object"
    assert "$ref" not in found


def test_a_schema_is_cleaned_once_and_many_are_not_kept() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"type": "string"}}}
    first = cleaned(schema, FULL)
    assert cleaned(schema, FULL) is first
    assert cleaned(schema, GEMINI_PLAIN) is not first
    for number in range(600):
        other = {"type": "object", "description": f"tool {number}"}
        assert cleaned(other, FULL)["description"] == f"tool {number}"
    assert len(service_schema._kept) <= service_schema._MOST_KEPT
