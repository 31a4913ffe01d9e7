import pytest

from agent.tools.schema import with_object_root
from agent.tools.service_schema import CONSERVATIVE, FULL, GEMINI_PLAIN, SchemaRules, cleaned

TEXT = {"type": "string"}
BY_ID = {"properties": {"id": TEXT, "note": TEXT}, "required": ["id"]}
BY_NAME = {"properties": {"name": TEXT}, "required": ["name"]}


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_union_at_the_top_becomes_one_object(union: str) -> None:
    found = with_object_root({"description": "Find one.", union: [BY_ID, BY_NAME]})
    assert found == {
        "type": "object",
        "properties": {"id": TEXT, "note": TEXT, "name": TEXT},
        "description": 'Find one. (needs ["id"] or ["name"])',
    }


def test_a_demand_of_all_variants_stays_a_demand() -> None:
    found = with_object_root(
        {"properties": {"x": TEXT}, "anyOf": [{"required": ["x"]}, {"required": ["x"]}]}
    )
    assert found["required"] == ["x"]
    assert "description" not in found


def test_parts_of_all_of_are_put_together() -> None:
    found = with_object_root({"allOf": [BY_ID, BY_NAME]})
    assert found["required"] == ["id", "name"]


@pytest.mark.parametrize("rules", [FULL, CONSERVATIVE, GEMINI_PLAIN])
@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [BY_ID, BY_NAME]},
        {"oneOf": [BY_ID, {"type": "null"}]},
        {"allOf": [BY_ID, BY_NAME], "not": {"required": ["x"]}},
        {"type": "object", "enum": [{}], "properties": None, "required": None},
        {"type": "object", "required": ["there is no such"]},
        {"type": "object", "properties": {"x": {"type": "array"}}, "required": "x"},
        {"type": ["object", "null"]},
        {"type": "array", "items": [TEXT, TEXT]},
    ],
)
def test_no_service_gets_what_it_refuses_at_the_top(
    rules: SchemaRules, schema: dict[str, object]
) -> None:
    found = cleaned(schema, rules)
    assert found["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "not", "enum"}.intersection(found)
    assert isinstance(found.get("required", []), list)


def test_a_list_says_that_it_holds_something() -> None:
    found = cleaned({"properties": {"x": {"type": "array"}}}, FULL)
    assert found["properties"] == {"x": {"type": "array", "items": {}}}
