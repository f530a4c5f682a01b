"""Tables that grow: which columns are added for a type's fields, and that nothing is asked while the type stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from ignite_kafka import events
from ignite_kafka.errors import TypeClash, WriteFailed
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.sql_views import PresentTable
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryField, BinaryType, CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.sink.table_growth import TableGrowth
from tests.support.ignite_bytes import Types
from tests.support.sink_stores import Caches, make_plan, make_router, make_store
from tests.support.to_ignite_records import cache_of, consumed
from tests.support.types_log import NAME, TypesLog

CACHE = cache_of({"id": "java.lang.Long", "home.city": "java.lang.String", "seen": "java.sql.Timestamp", "at": "org.acme.Point"})
SCALARS = {"id": codes.LONG, "seen": codes.DATE, "at": codes.OBJECT}


class Tables:
    """A table in memory, and the statements sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **fields: int) -> None:
        self.entity = CACHE.query_entities[0]
        self.added: list[tuple[str, str]] = []
        self.looks = 0
        self.exact = False
        self.types = Types()
        self.set_fields(**fields)
        monkeypatch.setattr("ignite_kafka.sink.table_growth.present_tables", self.present)
        monkeypatch.setattr("ignite_kafka.sink.table_growth.add_column", self.add)
        self.growth = TableGrowth(cast(Any, self.types))

    def set_fields(self, **fields: int) -> None:
        of_type = tuple(BinaryField(name, code, java_hash(name.lower())) for name, code in fields.items())
        self.types.known[java_hash("trade")] = BinaryType(java_hash("trade"), "Trade", None, of_type)

    def present(self, *_: object) -> dict[str, PresentTable]:
        self.looks += 1
        return {"Trade": PresentTable("S", "TRADE", self.entity, self.exact)}

    def add(self, _: object, schema: str, table: str, column: str, sql_type: str) -> None:
        assert (schema, table) == ("S", "TRADE")
        self.added.append((column, sql_type))


def test_each_field_of_a_simple_type_gets_its_column_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(monkeypatch, **SCALARS, home=codes.OBJECT, list=codes.COLLECTION, Day=codes.DATE, then=codes.DATE, price=codes.DECIMAL)
    events.take_notes()
    tables.growth.grow(CACHE, {("Trade", "day")})
    assert sorted(tables.added) == [("DAY", "DATE"), ("PRICE", "DECIMAL"), ("THEN", "TIMESTAMP")]
    ((number, fields),) = events.take_notes()
    named = {"cache": "tested", "table": "S.TRADE", "columns": "DAY DATE, PRICE DECIMAL, THEN TIMESTAMP"}
    assert (number, dict(fields)) == (events.TABLE_GREW.id, named)
    tables.growth.grow(CACHE)
    assert tables.looks == 1
    tables.set_fields(**SCALARS, more=codes.STRING)
    tables.exact = True
    tables.growth.grow(CACHE)
    assert (tables.added[3:], tables.looks) == ([("more", "VARCHAR")], 2)


@pytest.mark.parametrize("exact", [False, True])
def test_a_name_that_ignite_reads_otherwise_gets_no_column(monkeypatch: pytest.MonkeyPatch, exact: bool) -> None:
    names = ["", ".", "a.", "user.name", 'a"b', "a\nb", "n" * 257]
    names += [] if exact else ["ß", "ı", "ας", "𐐨"]
    good = ["n" * 256, "höhe", "名", "a b'c", "😀", *(["ß", "𐐨"] if exact else [])]
    tables = Tables(monkeypatch, **SCALARS, **dict.fromkeys(names + good, codes.LONG))
    tables.exact = exact
    tables.growth.grow(CACHE)
    assert sorted(tables.added) == sorted((name if exact else name.upper(), "BIGINT") for name in good)


@pytest.mark.parametrize(
    ("exact", "added"),
    [(False, [("DIED", "TIMESTAMP"), ("DUE", "DATE"), ("WED", "TIMESTAMP")]), (True, [("DUE", "DATE"), ("WED", "TIMESTAMP")])],
)
def test_a_date_whose_column_has_its_very_name_gets_none(monkeypatch: pytest.MonkeyPatch, exact: bool, added: list[Any]) -> None:
    tables = Tables(monkeypatch, **SCALARS, BORN=codes.DATE, DUE=codes.OBJECT, AT1=codes.DATE, Died=codes.DATE, WED=codes.TIMESTAMP)
    tables.exact = exact
    tables.growth.grow(CACHE, {("Trade", "born"), ("Trade", "due")})
    assert sorted(tables.added) == added


def test_nodes_without_sql_are_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(monkeypatch, price=codes.DOUBLE)

    def refuse(*_: object) -> dict[str, PresentTable]:
        raise ThinError(1, "Indexing is disabled")

    monkeypatch.setattr("ignite_kafka.sink.table_growth.present_tables", refuse)
    with pytest.raises(WriteFailed, match="Indexing is disabled") as failed:
        tables.growth.grow(CACHE)
    assert failed.value.where == {"cache": "tested"}
    assert "schema_contract store" in failed.value.remedy


def test_columns_that_others_have_added_are_not_added_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(monkeypatch, **SCALARS, price=codes.DOUBLE, prc=codes.LONG)
    column = QueryField("price", "java.lang.Double")
    tables.entity = replace(tables.entity, fields=(*tables.entity.fields, column), aliases=(("price", "PRC"),))
    events.take_notes()
    tables.growth.grow(CACHE)
    assert tables.added == [], "PRC is the column of field price"
    assert events.take_notes() == frozenset()


@pytest.mark.parametrize(("java_type", "name"), [("java.lang.String", "java.lang.String"), ("java.sql.Date", "java.sql.Date")])
def test_a_column_of_another_type_is_refused_by_both_types(monkeypatch: pytest.MonkeyPatch, java_type: str, name: str) -> None:
    tables = Tables(monkeypatch, **SCALARS, price=codes.DOUBLE)
    tables.entity = replace(tables.entity, fields=(*tables.entity.fields, QueryField("PRICE", java_type)))
    with pytest.raises(TypeClash) as clash:
        tables.growth.grow(CACHE)
    assert clash.value.what == f"column PRICE of SQL table S.TRADE is a {name}, and field price of Trade a double"
    assert tables.added == []


def test_a_cache_without_a_table_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(monkeypatch, price=codes.DOUBLE)
    tables.growth.grow(replace(CACHE, query_entities=()))
    tables.types.known.clear()
    tables.growth.grow(CACHE)
    assert (tables.added, tables.looks) == ([], 0)


class GrowingCaches(Caches):
    """A cluster with a table, and what was done to it in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.present = CACHE.query_entities
        self.done: list[str] = []
        self.replace_cluster(monkeypatch, TypesLog())
        monkeypatch.setattr("ignite_kafka.sink.entry_router.with_present_tables", lambda *_: self)
        monkeypatch.setattr("ignite_kafka.sink.store.TableGrowth", lambda _: self)

    @property
    def query_entities(self) -> tuple[QueryEntity, ...]:
        return self.present

    def configuration(self, _: str) -> None:
        return None

    def grow(self, cache: CacheInfo, days: frozenset[tuple[str, str]]) -> None:
        assert cache.query_entities == CACHE.query_entities
        self.done.append(f"grow {len(days)}, {len(self.put)} put")


@pytest.mark.parametrize(("contract", "done"), [("evolve", ["grow 0, 0 put", "grow 0, 1 put"]), ("store", []), ("freeze", [])])
def test_a_store_lets_tables_grow_before_it_puts(monkeypatch: pytest.MonkeyPatch, contract: str, done: list[str]) -> None:
    caches = GrowingCaches(monkeypatch)
    store = make_store(make_plan(schema_contract=contract, types_topic=NAME), caches)
    store.store([consumed([b'{"id":1}'])])
    store.store([consumed([b'{"id":2}'])])
    assert (caches.done, len(caches.put)) == (done, 2)


def test_a_column_that_was_added_meanwhile_is_seen_before_a_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    caches = GrowingCaches(monkeypatch)
    router = make_router(make_plan(schema_contract="freeze", types_topic=NAME), caches)

    def refused() -> list[str]:
        router.begin_batch()
        return [record.where["schema_contract"] for record in router.route(consumed([b'{"id":1,"more":2}'])).bad]

    assert refused() == ["freeze"]
    (entity,) = CACHE.query_entities
    caches.present = (replace(entity, fields=(*entity.fields, QueryField("MORE", "java.lang.Long"))),)
    assert refused() == []
