"""JSON Schema of a tool in the form that one model service accepts.

References are put in place, and what a service refuses is left out; a limit that is left out is
told in the description instead, so that the model still knows it. Only schemas are walked
through: what stands in `default`, `enum` or `examples` is data and stays as it is.
"""

import json
from collections.abc import Mapping

from msgspec import Struct

from agent.tools.schema import with_object_root

# Nested deeper than any tool of ours, and less than what a service parses
MAX_DEPTH = 24
# References that double at each level unfold to any size; no tool of ours has a tenth of it
MAX_NODES = 4000

_SCHEMA = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS_OF_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_UNIONS = ("anyOf", "oneOf")
# Whatever else stands in a schema is its author's own: it says nothing to a model, and services
# that know their fields by name refuse all of it
_KEYWORDS = _SCHEMA.union(
    _SCHEMAS_BY_NAME,
    _LISTS_OF_SCHEMAS,
    {"type", "enum", "const", "required", "title", "description", "default", "examples"},
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "nullable"},
    {"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"},
    {"minProperties", "maxProperties", "minContains", "maxContains", "dependentRequired"},
)
_BESIDE_A_REFERENCE = ("title", "description", "default", "examples")
_FEWEST_VALUES = 2
# What a limit is called in words
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matching {}",
    "format": "as {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


class SchemaRules(Struct, frozen=True):
    """Schema features that a service accepts.

    Args:
        refused: keywords that it does not take.
        takes_null: whether `null` may stand among types; else it becomes `nullable`.
        takes_all_of: whether `allOf` may stand; else its parts are put together.
        takes_any_enum: whether anything but texts may be enumerated; else it is told in words.
    """

    refused: frozenset[str] = frozenset()
    takes_null: bool = True
    takes_all_of: bool = True
    takes_any_enum: bool = True


# OpenAI, Anthropic, and Gemini's `parametersJsonSchema`: all of JSON Schema but references
FULL = SchemaRules()
# Services that speak chat completions and say nothing of schemas
CONSERVATIVE = SchemaRules(
    frozenset({"additionalProperties", "patternProperties", "unevaluatedProperties"}),
    takes_all_of=False,
)
# Gemini's older `parameters`
GEMINI_PLAIN = SchemaRules(
    frozenset(
        {"additionalProperties", "patternProperties", "unevaluatedProperties", "examples"}
        | {"uniqueItems", "minProperties", "maxProperties", "not", "if", "then", "else"}
        | {"prefixItems", "contains", "propertyNames", "dependentSchemas", "unevaluatedItems"}
        | {"minContains", "maxContains", "dependentRequired"}
        | set(_LIMITS)
    ),
    takes_null=False,
    takes_all_of=False,
    takes_any_enum=False,
)


# Every tool for more than one service; tools live as long as the agent, and are told to a model
# at every request
_MOST_KEPT = 256
# By identity: the schema itself is kept, so that no other one can take its place
_kept: dict[tuple[int, SchemaRules], tuple[Mapping[str, object], dict[str, object]]] = {}


def cleaned(schema: Mapping[str, object], rules: SchemaRules) -> dict[str, object]:
    """Return the schema of a tool's arguments, adapted to `rules`.

    Nobody changes either of them: the same schema gives the same result, made once.
    """
    key = (id(schema), rules)
    if key not in _kept:
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        result = with_object_root(_Cleaning(schema, rules).clean(schema, (), 0))
        _kept[key] = (schema, result)
    return _kept[key][1]


class _Cleaning:
    """One schema while it is adapted."""

    def __init__(self, root: Mapping[str, object], rules: SchemaRules) -> None:
        self._root = root
        self._rules = rules
        self._nodes_left = MAX_NODES

    def clean(self, schema: object, inside: tuple[str, ...], depth: int) -> dict[str, object]:
        """Return the adapted schema; `inside` holds the open references, to detect a cycle."""
        self._nodes_left -= 1
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._nodes_left < 0:
            return {}
        if "$ref" in schema:
            return self._resolved(schema, str(schema["$ref"]), inside, depth)
        schema = self._without_tuple(schema)
        result = {
            str(key): self._value(str(key), value, inside, depth)
            for key, value in schema.items()
            if self._is_taken(str(key)) and _is_shaped(str(key), value)
        }
        self._tell_limits(schema, result)
        if _is_list(result) and not isinstance(result.get("items"), dict):
            # Services refuse a list of nothing in particular, and a yes or no for its entries
            result["items"] = {}
        return self._simpler(result)

    def _is_taken(self, keyword: str) -> bool:
        return keyword in _KEYWORDS and keyword not in self._rules.refused

    def _without_tuple(self, schema: Mapping[str, object]) -> Mapping[str, object]:
        """Return a list whose entries differ by their place as one of entries of any of them."""
        places = schema.get("items")
        if not isinstance(places, list):
            places = schema.get("prefixItems") if not self._is_taken("prefixItems") else None
        if not isinstance(places, list) or not places:
            return schema
        different = [one for at, one in enumerate(places) if one not in places[:at]]
        items = {"anyOf": different} if len(different) > 1 else different[0]
        rest = {key: value for key, value in schema.items() if key != "prefixItems"}
        told = {**rest, "items": items}
        if len(different) > 1:
            _tell(told, "in this order: " + ", ".join(map(_named, places)))
        return told

    def _value(self, key: str, value: object, inside: tuple[str, ...], depth: int) -> object:
        deeper = depth + 1
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            return {str(name): self.clean(part, inside, deeper) for name, part in value.items()}
        if key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            return [self.clean(part, inside, deeper) for part in value]
        if key in _SCHEMA and isinstance(value, Mapping):
            return self.clean(value, inside, deeper)
        return value

    def _resolved(
        self, schema: Mapping[str, object], reference: str, inside: tuple[str, ...], depth: int
    ) -> dict[str, object]:
        beside = {key: schema[key] for key in _BESIDE_A_REFERENCE if key in schema}
        target = None if reference in inside else _pointed(self._root, reference)
        if target is None:
            return beside
        return {**self.clean(target, (*inside, reference), depth + 1), **beside}

    def _tell_limits(self, schema: Mapping[str, object], result: dict[str, object]) -> None:
        told = [
            words.format(schema[key])
            for key, words in _LIMITS.items()
            if key in self._rules.refused and key in schema
        ]
        if told:
            _tell(result, ", ".join(told))

    def _simpler(self, schema: dict[str, object]) -> dict[str, object]:
        if "const" in schema:
            schema["enum"] = [schema.pop("const")]
        if not self._rules.takes_null:
            schema = _without_null(schema)
        for union in _UNIONS:
            schema = _collapsed(schema, union)
        if not self._rules.takes_all_of:
            schema = _put_together(schema)
        if not self._rules.takes_any_enum:
            schema = _with_enum_of_texts(schema)
        return schema


def _is_list(schema: Mapping[str, object]) -> bool:
    kinds = schema.get("type")
    return kinds == "array" or (isinstance(kinds, list) and "array" in kinds)


def _named(entry: object) -> str:
    """Return an entry of a list in words."""
    if not isinstance(entry, Mapping):
        return "anything"
    return str(entry.get("title") or entry.get("description") or entry.get("type") or "anything")


def _tell(schema: dict[str, object], words: str) -> None:
    said = str(schema.get("description") or "").rstrip()
    schema["description"] = f"{said} ({words})".lstrip()


def _with_enum_of_texts(schema: dict[str, object]) -> dict[str, object]:
    """Describe other values in words; keep a single one if its union still needs it."""
    values = schema.get("enum")
    if not isinstance(values, list) or len(values) < _FEWEST_VALUES:
        return schema
    if all(isinstance(value, str) for value in values):
        return schema
    rest = {key: value for key, value in schema.items() if key != "enum"}
    named = [value for value in values if value is not None]
    if len(named) < len(values):
        rest["nullable"] = True
    if named and all(isinstance(value, str) for value in named):
        rest["enum"] = named
    elif named:
        _tell(rest, "one of " + ", ".join(map(json.dumps, named)))
    return rest


def _is_shaped(keyword: str, value: object) -> bool:
    """Return true if the value fits the keyword; foreign tools may contain anything."""
    if keyword in _SCHEMAS_BY_NAME:
        return isinstance(value, Mapping)
    if keyword == "required":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if keyword == "type":
        return isinstance(value, str | list)
    if keyword in _LISTS_OF_SCHEMAS:
        return isinstance(value, list) and bool(value)
    return keyword not in _SCHEMA or isinstance(value, Mapping | bool)


def _pointed(root: Mapping[str, object], reference: str) -> Mapping[str, object] | None:
    """Return the target of a reference within the schema."""
    if not reference.startswith("#"):
        return None
    found: object = root
    for step in reference[1:].strip("/").split("/") if reference != "#" else ():
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _without_null(schema: dict[str, object]) -> dict[str, object]:
    """Turn `null` among types or variants into `nullable`."""
    types = schema.get("type")
    if isinstance(types, list):
        others = [kind for kind in types if kind != "null"]
        schema = {**schema, "nullable": True} if "null" in types else dict(schema)
        if len(others) == 1:
            schema["type"] = others[0]
        elif others:
            schema.pop("type")
            schema["anyOf"] = [{"type": kind} for kind in others]
    for union in _UNIONS:
        variants = schema.get(union)
        if isinstance(variants, list) and any(_is_null(variant) for variant in variants):
            rest = [variant for variant in variants if not _is_null(variant)]
            schema = {**schema, union: rest, "nullable": True}
    return schema


def _is_null(variant: object) -> bool:
    return isinstance(variant, dict) and (
        variant.get("type") == "null" or variant.get("enum") == [None]
    )


def _collapsed(schema: dict[str, object], union: str) -> dict[str, object]:
    """Replace a union of one by its variant and a union of constants by an enumeration."""
    variants = schema.get(union)
    if not isinstance(variants, list) or not variants:
        return schema
    rest = {key: value for key, value in schema.items() if key != union}
    if len(variants) == 1:
        return {**variants[0], **rest}
    values: list[object] = []
    kinds: list[object] = []
    for variant in variants:
        listed = variant.get("enum")
        if not isinstance(listed, list) or not set(variant) <= {"enum", "type"}:
            return schema
        values += listed
        kinds.append(variant.get("type"))
    has_one_kind = kinds[0] is not None and kinds.count(kinds[0]) == len(kinds)
    return {**rest, **({"type": kinds[0]} if has_one_kind else {}), "enum": values}


def _put_together(schema: dict[str, object]) -> dict[str, object]:
    """Merge the parts of an `allOf`: all fields and requirements; the first text wins."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        for key, value in part.items():
            mine = whole.get(key)
            if key == "properties" and isinstance(mine, dict) and isinstance(value, dict):
                whole[key] = {**value, **mine}
            elif key == "required" and isinstance(mine, list) and isinstance(value, list):
                whole[key] = [*mine, *(name for name in value if name not in mine)]
            else:
                whole.setdefault(key, value)
    return whole
