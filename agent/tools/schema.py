"""JSON Schema from argument types, in the plain form that every model service accepts."""

from functools import cache

import msgspec


@cache
def parameters_of(arguments_type: type[msgspec.Struct]) -> dict[str, object]:
    """A self-contained object schema: no references, no titles, unknown fields refused."""
    (schema,), definitions = msgspec.json.schema_components([arguments_type])
    inlined = _inline(schema, definitions)
    if not isinstance(inlined, dict):  # pragma: no cover - a Struct is always an object
        raise TypeError(f"{arguments_type.__name__} is not an object")
    inlined.pop("description", None)
    return inlined


def _inline(schema: object, definitions: dict[str, dict[str, object]]) -> object:
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        # What stands beside a reference, such as a default, is about this field alone
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _inline({**definitions[name], **beside}, definitions)
    return {
        key: _fields(value, definitions)
        if key == "properties"
        else _shown_pattern(value)
        if key == "pattern"
        else _inline(value, definitions)
        for key, value in schema.items()
        if key != "title"
    }


def _shown_pattern(pattern: object) -> object:
    """Return a pattern as services read it, who know Python's mark of the very end by no name."""
    return f"{pattern[:-2]}$" if isinstance(pattern, str) and pattern.endswith(r"\Z") else pattern


def _fields(fields: dict[str, object], definitions: dict[str, dict[str, object]]) -> object:
    """Here the keys are names that a tool has chosen, whatever they are."""
    return {name: _inline(schema, definitions) for name, schema in fields.items()}
