"""SQL tables and records with a field that has no column: each schema contract on real nodes, read back by SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.errors import RecordRefused, TypeClash
from ignite_kafka.ignite import protocol, sql_query
from ignite_kafka.ignite.alter_table import add_column
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.settings.secrets import Secrets
from tests.support.kept_events import assert_kept
from tests.support.sink_connector import Sink

WITH_SCHEMAS = {"schemas.enable": "true"}
TYPES = {"id": "int64", "symbol": "string", "price": "double", "extra": "int64", "note": "string"}


@pytest.fixture
def cluster(sink: Sink) -> Iterator[Cluster]:
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        yield cluster


def execute(cluster: Cluster, statement: str) -> list[list[Any]]:
    body = cluster.ask(lambda connection: connection.request(protocol.QUERY_SQL_FIELDS, sql_query.request(statement)))
    return sql_query.read_result(body, cluster).page.rows


def table(sink: Sink) -> str:
    return f'"{sink.cache}".TRADE{sink.name}'


def plain(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def with_schema(**fields: Any) -> bytes:
    """A record of converter json with its schema; a day is java.sql.Date."""
    types = [
        {"field": name, "optional": True}
        | ({"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1} if name == "day" else {"type": TYPES[name]})
        for name in fields
    ]
    return plain(schema={"type": "struct", "optional": False, "fields": types}, payload=fields)


def test_new_fields_become_columns_of_all_tasks_and_removed_ones_are_null(sink: Sink, cluster: Cluster) -> None:
    sink.send([(b"%d" % number, plain(id=number, symbol="a", price=1.5)) for number in range(3)])
    sink.run(schema_contract="evolve")
    sink.send([(b"%d" % number, plain(id=number, extra=number, note="n" * 300, inner={"a": 1})) for number in range(3, 9)])
    sink.send([(b"0", plain(id=0, symbol="b"))], partition=0)
    sink.run(schema_contract="evolve")
    rows = execute(cluster, f"SELECT id, symbol, price, extra, LENGTH(note) FROM {table(sink)} ORDER BY id")
    old = [[0, "b", None, None, None], [1, "a", 1.5, None, None], [2, "a", 1.5, None, None]]
    assert rows == [*old, *([number, None, None, number, 300] for number in range(3, 9))]
    names = {row[0] for row in execute(cluster, f"SELECT COLUMN_NAME FROM SYS.TABLE_COLUMNS WHERE TABLE_NAME = 'TRADE{sink.name.upper()}'")}
    assert "INNER" not in names, "SQL has no type for an object"
    assert sink.entries()[3]["inner"].a == 1
    assert_kept(sink.settings, events.TABLE_GREW)


def test_schemas_give_columns_their_types_and_a_changed_type_is_refused(sink: Sink, cluster: Cluster) -> None:
    own = {"schema_contract": "evolve", "value_converter_config": WITH_SCHEMAS}
    sink.send([(b"1", with_schema(id=1, extra=5, day=19_000, note=None))], partition=0)
    sink.run(**own)
    columns = execute(
        cluster, f"SELECT COLUMN_NAME, TYPE FROM SYS.TABLE_COLUMNS WHERE TABLE_NAME = 'TRADE{sink.name.upper()}' AND COLUMN_NAME <> 'ID'"
    )
    added = {"EXTRA": "java.lang.Long", "DAY": "java.sql.Date", "NOTE": "java.lang.String"}
    assert dict(columns).items() >= added.items()
    assert execute(cluster, f"SELECT extra, CAST(day AS VARCHAR), note FROM {table(sink)}") == [[5, "2022-01-08", None]]
    changed = json.loads(with_schema(id=2, extra=7))
    changed["schema"]["fields"][1]["type"] = "string"
    changed["payload"]["extra"] = "seven"
    sink.send([(b"2", json.dumps(changed).encode())], partition=0)
    with pytest.raises(RecordRefused, match="field extra is a STRING, and the cache has long for it"):
        sink.run(**own)
    assert execute(cluster, f"SELECT id FROM {table(sink)}") == [[1]]


def test_a_column_of_another_type_than_the_field_ends_the_run_before_the_put(sink: Sink, cluster: Cluster) -> None:
    sink.send([(b"1", plain(id=1, extra=5))], partition=0)
    sink.run()
    execute(cluster, f"ALTER TABLE {table(sink)} ADD COLUMN extra VARCHAR")
    sink.send([(b"2", plain(id=2, extra=6))], partition=0)
    with pytest.raises(TypeClash) as clash:
        sink.run(schema_contract="evolve")
    assert "java.lang.String" in clash.value.what
    assert "long" in clash.value.what
    assert set(sink.entries()) == {1}


def test_a_closed_table_takes_what_has_a_column(sink: Sink, cluster: Cluster) -> None:
    letters = f"{sink.name}-letters"
    sink.send([(b"1", plain(id=1, extra=5)), (b"2", plain(id=2, extra=None)), (b"3", plain(id=3))], partition=0)
    lenient = {"error_handling_policy": "LOG_ONLY"}
    with pytest.raises(RecordRefused, match=f"field extra is no column of the SQL table of cache {sink.cache}"):
        sink.run(schema_contract="freeze", **lenient)
    assert execute(cluster, f"SELECT COUNT(*) FROM {table(sink)}") == [[0]]
    assert sink.run(schema_contract="dead_letter", dead_letter_topic=letters).caches[sink.cache].dead_letters == 1
    (letter,) = read_to_end(sink.clients, Topics(sink.clients), letters, [0])
    assert (letter.key(), letter.value()) == (b"1", plain(id=1, extra=5))
    sink.send([(b"4", plain(id=4, extra=5, more="x")), (b"5", plain(id=5))], partition=0)
    sink.run(schema_contract="discard_field")
    assert_kept(sink.settings, events.FIELD_DISCARDED)
    assert {key: sorted(entry) for key, entry in sink.entries().items()} == {key: ["id", "open", "price", "symbol"] for key in (2, 3, 4, 5)}
    execute(cluster, f"ALTER TABLE {table(sink)} ADD COLUMN extra BIGINT")
    sink.send([(b"6", plain(id=6, extra=7))], partition=0)
    sink.run(schema_contract="freeze")
    assert execute(cluster, f"SELECT extra FROM {table(sink)} WHERE id = 6") == [[7]]


def test_a_column_is_added_once_by_clients_that_add_it_at_once(sink: Sink, cluster: Cluster) -> None:
    sink.run()

    def add(number: int) -> None:
        with ignite_cluster(sink.settings, Secrets()) as own:
            add_column(own, sink.cache, f"TRADE{sink.name.upper()}", f"C{number % 2}", "BIGINT")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert execute(cluster, f"SELECT c0, c1 FROM {table(sink)}") == []
