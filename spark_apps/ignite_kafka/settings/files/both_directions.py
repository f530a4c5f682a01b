"""A file with the settings of both a source and a sink, for ``ignite-kafka replicate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import SettingsError
from ..connect.rest_bodies import only_body
from ..findings import Findings
from .load import Allowed, LoadedSettings, is_properties, json_of, of_connect, of_json, properties_of, read

_DIRECTIONS = ("source", "sink")
_PREFIXES = tuple(f"{part}." for part in _DIRECTIONS)


def load_both(path: str | Path, allowed: Allowed = ()) -> tuple[LoadedSettings, LoadedSettings]:
    """Read the settings of both a source and a sink from one file.

    A name with prefix ``source.`` or ``sink.`` applies to that direction only, and takes precedence over a name without
    prefix, which applies to both. In a `.json` file the directions may also be objects:
    ``{"source": {…}, "sink": {…}, …}``.

    :param allowed: see :func:`.files.load`.
    :raises SettingsError: as :func:`.files.load`; or the file has no setting for one of the directions alone.
    """
    content, file = read(path)
    data, origin = _values(content, file)
    for part in _DIRECTIONS:
        if isinstance(within := data.get(part), dict):
            origin |= {f"{part}.{name}": f"{file}, {part}" for name in within}
            data = {name: value for name, value in data.items() if name != part} | {
                f"{part}.{name}": item for name, item in within.items()
            }
    source, sink = (_of_direction(data, origin, part, file, allowed) for part in _DIRECTIONS)
    return source, sink


def _values(content: bytes, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    if is_properties(file):
        values, origin = properties_of(content, file)
        return dict(values), origin
    body = only_body(json_of(content, file), file)
    Findings(body.errors).raise_all()
    return dict(body.config), dict.fromkeys(body.config, file)


def _of_direction(
    data: Mapping[str, Any], origin: Mapping[str, str], part: str, file: str, allowed: Allowed
) -> LoadedSettings:
    """Return the source's or sink's settings: its own override the settings given for both."""
    own = {name.removeprefix(f"{part}."): name for name in data if name.startswith(f"{part}.")}
    if not own:
        what = f"the file has no settings of the {part}"
        remedy = f"Put {part}. before the names that are the {part}'s own"
        raise SettingsError(what, remedy, file=file)
    names = {name: name for name in data if not name.startswith(_PREFIXES)} | own
    values = {short: data[name] for short, name in names.items()}
    set_in = {short: origin[name] for short, name in names.items()}
    return of_connect(values, set_in, allowed) if is_properties(file) else of_json(values, set_in)
