"""Routes of a JSON API from a table of operations, and its description in OpenAPI.

Values are described by JSON Schema. The same dictionaries check requests and are in
``/api/schema``, so what is documented is what is checked.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcot._version import __version__
from dcot.errors import DcotError, OutputError
from dcot.runtime.files import DISK_FULL
from dcot.runtime.resources import n_cores

MAX_JSON_BYTES = 1 << 20
Schema = Mapping[str, Any]
_log = logging.getLogger("uvicorn.error")  # which the server shows


class Failure(Exception):  # noqa: N818  it is an answer
    """An answer other than the usual one: a status, and what to tell the caller."""

    def __init__(self, status: int, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.details = status, details


@dataclass(frozen=True)
class Download:
    """A file for the browser to save."""

    name: str
    content: str
    media_type: str


@dataclass(frozen=True)
class Operation:
    """One operation of the API.

    Attributes
    ----------
    path : below ``/api``
    handler : called with the values of ``query`` or ``body`` by name, in a thread; those without
        a default are required
    query : schema of each value in the address; whole numbers and strings
    body : schema of the JSON object that is sent, by POST; without one, it is a GET
    computes : whether it keeps a core busy for a short time; at most one of these runs per core,
        and the others wait for their turn
    failures : further status codes of its answers
    """

    path: str
    summary: str
    handler: Callable[..., Any]
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    max_bytes: int = MAX_JSON_BYTES
    computes: bool = False
    failures: Mapping[int, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    @cached_property
    def required(self) -> list[str]:
        given = inspect.signature(self.handler).parameters.values()
        return [one.name for one in given if one.default is inspect.Parameter.empty]


def routes(operations: Sequence[Operation]) -> list[Route]:
    """A route for each, and one for their description."""
    described = description(operations)

    async def schema(request: Request) -> Response:
        return JSONResponse(described)

    found: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        found.setdefault(operation.path, {})[operation.method] = operation
    cores = asyncio.Semaphore(n_cores())
    return [
        Route("/api/schema", schema, methods=["GET"]),
        *(
            Route(f"/api{path}", _endpoint(by_method, cores), methods=list(by_method))
            for path, by_method in found.items()
        ),
    ]


def _endpoint(
    by_method: Mapping[str, Operation], cores: asyncio.Semaphore
) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        operation = by_method[method]
        try:
            values = await _values(operation, request)
            async with cores if operation.computes else nullcontext():
                answer = await run_in_threadpool(operation.handler, **values)
        except Failure as failure:
            return _error(failure.status, str(failure), **failure.details)
        except DcotError as error:
            return _error(_status(error), str(error))
        except Exception as error:  # of an encoder, for example
            _log.exception("an unexpected error in %s %s", operation.method, operation.path)
            return _error(500, f"an unexpected error: {type(error).__name__}: {error}")
        if isinstance(answer, Download):
            disposition = f'attachment; filename="{answer.name}"'
            return Response(
                answer.content,
                media_type=answer.media_type,
                headers={"content-disposition": disposition},
            )
        return JSONResponse(answer)

    return endpoint


def _status(error: DcotError) -> int:
    if not isinstance(error, OutputError):
        return 400
    return 507 if error.errno in DISK_FULL else 500


def _error(status: int, message: str, **details: Any) -> Response:
    return JSONResponse({"error": message, **details}, status_code=status)


async def _values(operation: Operation, request: Request) -> dict[str, Any]:
    """The values that a request gives, checked."""
    if operation.body is None:
        return _query(operation, request)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Failure(415, "send application/json")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > operation.max_bytes:
            raise Failure(413, f"at most {operation.max_bytes:,} bytes are accepted here")
    try:
        body = json.loads(data.decode())
        json.dumps(body, ensure_ascii=False).encode()  # no half characters
    except (ValueError, RecursionError) as error:
        raise Failure(422, f"the request is not JSON: {error}") from error
    check(body, operation.body)
    return dict(body)


def _query(operation: Operation, request: Request) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, given in request.query_params.items():
        if name not in operation.query:
            raise Failure(422, f"{name[:60]} is not known")
        schema = operation.query[name]
        value: Any = given
        if schema["type"] == "integer":
            if not given.isascii() or not given.isdigit() or len(given) > 18:
                raise Failure(422, f"{name} must be a whole number")
            value = int(given)
        check(value, schema, name)
        values[name] = value
    missing = [name for name in operation.required if name not in values]
    if missing:
        raise Failure(422, f"{missing[0]} is missing")
    return values


def description(operations: Sequence[Operation]) -> dict[str, Any]:
    """The operations in OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(f"/api{operation.path}", {})[operation.method.lower()] = _described(
            operation
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "dcot", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }


_FAILURES = {
    400: "Not possible; `error` says why",
    401: "Without the token",
    422: "Not of the described form",
    500: "The file of labels cannot be written",
    503: "No answer in time",
    507: "The disk is full; nothing was changed",
}


def _described(operation: Operation) -> dict[str, Any]:
    failures = {**_FAILURES, **operation.failures}
    if operation.body is not None:
        failures |= {413: "Too large", 415: "Not JSON"}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "responses": {
            "200": {"description": "Done"},
            **{str(code): {"description": why} for code, why in sorted(failures.items())},
        },
        "parameters": [
            {"name": name, "in": "query", "required": name in operation.required, "schema": schema}
            for name, schema in operation.query.items()
        ],
    }
    if operation.body is not None:
        content = {"application/json": {"schema": operation.body}}
        described["requestBody"] = {"required": True, "content": content}
    return described


# -- values and their schemas -------------------------------------------------------------------


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
    dcot.web.routes.Failure: n must be at most 5, got 9
    """
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None and "null" in kinds:
        return
    kind = kinds[0]
    fits: bool = isinstance(value, _TYPES[kind])
    if not fits or (kind == "integer" and isinstance(value, bool)):
        raise Failure(422, f"{where} must be of type {kind}, got {type(value).__name__}")
    if "enum" in schema and value not in schema["enum"]:
        raise Failure(422, f"{where} must be one of {', '.join(schema['enum'])}")
    if kind == "string":
        _check_length(len(value), schema, "Length", "characters", where)
    elif kind == "integer":
        if value < schema["minimum"]:
            raise Failure(422, f"{where} must be at least {schema['minimum']}, got {value}")
        if value > schema["maximum"]:
            raise Failure(422, f"{where} must be at most {schema['maximum']}, got {value}")
    elif kind == "array":
        _check_length(len(value), schema, "Items", "entries", where)
        for place, entry in enumerate(value):
            check(entry, schema["items"], f"{where}[{place}]")
    elif kind == "object":
        _check_object(value, schema, where)


def _check_length(length: int, schema: Schema, what: str, unit: str, where: str) -> None:
    if length < schema.get(f"min{what}", 0):
        raise Failure(422, f"{where} has {length} {unit}, at least {schema[f'min{what}']}")
    if length > schema.get(f"max{what}", length):
        raise Failure(422, f"{where} has {length} {unit}, at most {schema[f'max{what}']}")


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    inside = "" if where == "the request" else f"{where}."
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        raise Failure(422, f"{inside}{missing[0]} is missing")
    for name, entry in value.items():
        if name not in schema["properties"]:
            raise Failure(422, f"{inside}{name[:60]} is not known")
        check(entry, schema["properties"][name], f"{inside}{name}")
