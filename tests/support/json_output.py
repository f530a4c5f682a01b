"""Output of commands with ``--json``, compared with its documented schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jsonschema import Draft202012Validator

from ignite_kafka.cli.commands import parse
from ignite_kafka.cli.output_schemas import output_schema


def check_json_output(arguments: Sequence[str], output: str) -> Any:
    """Compare what a command printed, and return its value: a list of values if it prints lines.

    :raises AssertionError: it is no JSON, or has another form than the schema says.
    """
    row = parse([*arguments]).row
    try:
        value = json.loads(output)
        values = [value]
    except json.JSONDecodeError:
        value = values = [json.loads(line) for line in output.splitlines()]
    for part in values:
        check_value(row.path, part)
    return value


def check_value(path: str, value: Any) -> None:
    """Compare a value with the schema of a command; members that the schema lacks are errors, too."""
    schema = output_schema(path)
    Draft202012Validator.check_schema(schema)
    assert [error.message for error in Draft202012Validator(_closed(schema)).iter_errors(value)] == [], (path, value)


def _closed(schema: Any) -> Any:
    """The schema without the permission of further members, which later versions may add."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object" and closed["required"] != ["$schema", "title"]:
        closed["additionalProperties"] = False
    return closed
