"""Whether arguments fit a JSON Schema, as far as tools' schemas go: independent of the code."""

from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why a value does not fit, or None."""
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is none of {schema['enum']}"
    if "type" in schema and not isinstance(value, _TYPES[schema["type"]]):
        return f"{value!r} is no {schema['type']}"
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        fits = schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return None if fits else f"{value} is out of range"
    if isinstance(value, str):
        longest = schema.get("maxLength", len(value))
        fits = schema.get("minLength", 0) <= len(value) <= longest
        return None if fits else f"{len(value)} characters"
    return _object_misfit(value, schema) if isinstance(value, dict) else None


def _object_misfit(value: dict[str, Any], schema: Mapping[str, Any]) -> str | None:
    properties = schema.get("properties", {})
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{missing} is missing"
    if unknown := [name for name in value if name not in properties]:
        return f"{unknown} is unknown"
    found = (misfit(value[name], properties[name]) for name in value)
    return next((one for one in found if one is not None), None)
