"""The JSON that requests carry: described once, as JSON Schema, and checked by it.

The same dictionaries are in ``/api/schema``, so what is documented is what is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


class InvalidRequestError(Exception):
    """A request that does not have the described form."""


def text(longest: int, shortest: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": shortest, "maxLength": longest, **more}


def integer(low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def array(items: Schema, longest: int, shortest: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": shortest, "maxItems": longest}


def record(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "array": list,
    "object": dict,
    "boolean": bool,
}


def check(value: Any, schema: Schema, where: str = "the request") -> None:
    """Refuse a value that a schema does not describe, with a message that says where.

    >>> check({"n": 3}, record({"n": integer(1, 5)}))
    >>> check({"n": 9}, record({"n": integer(1, 5)}))
    Traceback (most recent call last):
    ...
    dcot.web.schema.InvalidRequestError: n must be at most 5, got 9
    """
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None and "null" in kinds:
        return
    kind = kinds[0]
    fits: bool = isinstance(value, _TYPES[kind])
    if not fits or (kind == "integer" and isinstance(value, bool)):
        raise InvalidRequestError(f"{where} must be of type {kind}, got {type(value).__name__}")
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidRequestError(f"{where} must be one of {', '.join(schema['enum'])}")
    if kind == "string":
        _check_length(len(value), schema, "Length", "characters", where)
    elif kind == "integer":
        if value < schema["minimum"]:
            raise InvalidRequestError(f"{where} must be at least {schema['minimum']}, got {value}")
        if value > schema["maximum"]:
            raise InvalidRequestError(f"{where} must be at most {schema['maximum']}, got {value}")
    elif kind == "array":
        _check_length(len(value), schema, "Items", "entries", where)
        for place, entry in enumerate(value):
            check(entry, schema["items"], f"{where}[{place}]")
    elif kind == "object":
        _check_object(value, schema, where)


def _check_length(length: int, schema: Schema, what: str, unit: str, where: str) -> None:
    if length < schema.get(f"min{what}", 0):
        raise InvalidRequestError(f"{where} has {length} {unit}, at least {schema[f'min{what}']}")
    if length > schema.get(f"max{what}", length):
        raise InvalidRequestError(f"{where} has {length} {unit}, at most {schema[f'max{what}']}")


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    inside = "" if where == "the request" else f"{where}."
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        raise InvalidRequestError(f"{inside}{missing[0]} is missing")
    for name, entry in value.items():
        if name not in schema["properties"]:
            raise InvalidRequestError(f"{inside}{name[:60]} is not known")
        check(entry, schema["properties"][name], f"{inside}{name}")
