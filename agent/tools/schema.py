"""JSON Schema from argument types, in the plain form that every model service accepts."""

import json
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

_UNIONS = ("anyOf", "oneOf", "allOf")
# Nothing that a service takes at the top
_REFUSED = frozenset({*_UNIONS, "not", "enum", "if", "then", "else"})


def with_object_root(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the schema as one object with the properties of all its variants.

    A variant's own demands are told in words: the tool's program checks them.
    """
    whole = {key: value for key, value in schema.items() if key not in _REFUSED}
    properties = dict(_mapping(whole.get("properties")))
    required = _names(whole.get("required"))
    told = []
    for union in _UNIONS:
        variants = [_mapping(one) for one in _list(schema.get(union))]
        for variant in variants:
            properties = {**_mapping(variant.get("properties")), **properties}
        demands = [_names(variant.get("required")) for variant in variants]
        if union == "allOf":
            required += [name for one in demands for name in one if name not in required]
        elif demands:
            required += [name for name in demands[0] if _is_everywhere(name, demands, required)]
            told += _in_words(demands)
    whole["type"] = "object"
    if properties or "properties" in whole:
        whole["properties"] = properties
    whole.pop("required", None)
    if known := [name for name in required if name in properties]:
        whole["required"] = known
    if told:
        said = str(whole.get("description") or "").rstrip()
        whole["description"] = f"{said} (needs {' or '.join(told)})".lstrip()
    return whole


def _is_everywhere(name: str, demands: Sequence[Sequence[str]], known: Sequence[str]) -> bool:
    return name not in known and all(name in one for one in demands)


def _in_words(demands: Sequence[Sequence[str]]) -> list[str]:
    """Return the demands of variants that differ; none if they are the same."""
    if len({tuple(sorted(one)) for one in demands}) == 1:
        return []
    return [json.dumps(one) for one in demands if one]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _names(value: object) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]


@cache
def parameters_of(arguments_type: type[msgspec.Struct]) -> dict[str, object]:
    """Return a self-contained object schema: no references, no titles, no unknown fields."""
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
    """Return a pattern without Python's own end mark, which services do not know."""
    return f"{pattern[:-2]}$" if isinstance(pattern, str) and pattern.endswith(r"\Z") else pattern


def _fields(fields: dict[str, object], definitions: dict[str, dict[str, object]]) -> object:
    """Resolve each field; the keys are a tool's own names."""
    return {name: _inline(schema, definitions) for name, schema in fields.items()}
