"""Root of a tool's schema: one object, as every service wants it.

OpenAI and Anthropic refuse a union, `allOf`, `not` or `enum` at the top, and the conversation with
it. Other programs' tools have them.
"""

import json
from collections.abc import Mapping, Sequence

_UNIONS = ("anyOf", "oneOf", "allOf")
# Nothing that a service takes at the top
_REFUSED = frozenset({*_UNIONS, "not", "enum", "if", "then", "else"})


def rooted(schema: Mapping[str, object]) -> dict[str, object]:
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
