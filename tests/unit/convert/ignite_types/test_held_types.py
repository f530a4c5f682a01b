"""One form of a key type, whatever tasks register side by side: a key of other bytes is another key, and no record reaches it again."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, RecordConverter
from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from tests.support.randomness import generator
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter
from tests.support.waiting import DEADLINE_S

_SCHEMA = slice(16, 20)  # in an object's header
FREE = CacheInfo("free", 2)
FIXED = "field {} is not a field of {}, whose fields are fixed since they make the key"


class Shared(GrowingTypes):
    """Types of a cluster that several tasks register at once: a registration looks, is sent, and is read back."""

    def __init__(self) -> None:
        super().__init__()
        self.at: Callable[[str, str], None] = lambda moment, name: None

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        self.at("look", kind.name)
        if unless_known and kind.type_id in self.known:
            return self.known[kind.type_id]
        self.at("send", kind.name)
        super().register(kind)
        self.at("read back", kind.name)
        return self.known[kind.type_id]


def keys_of(converter: RecordConverter, *keys: bytes) -> tuple[dict[bytes, bytes], list[str]]:
    """Bytes of each key in the cache, and why the others are none."""
    entries = converter.convert(consumed([b"1"] * len(keys), keys))
    return dict(zip((keys[row] for row in entries.rows), entries.keys.to_pylist(), strict=True)), [bad.reason for bad in entries.bad]


def once(types: Shared, moment: str, name: str, act: Callable[[], object]) -> None:
    """Act when a registration of that type comes to that moment, once."""

    def at(now: str, of: str) -> None:
        if (now, of) == (moment, name):
            types.at = lambda *_: None
            act()

    types.at = at


PAIRS = [
    (b'{"id":1,"tenant":null}', b'{"id":2,"tenant":"x"}', FIXED.format("tenant", "free.Key"), "free.Key"),
    (b'{"a":1,"b":1}', b'{"a":1,"c":1}', FIXED.format("c", "free.Key"), "free.Key"),
    (b'{"p":{"x":1}}', b'{"p":{"x":1,"y":2}}', "field p." + FIXED.format("y", "free.Key.p")[6:], "free.Key.p"),
    (b'{"p":[{"x":1}]}', b'{"p":[{"x":1,"y":2}]}', "field p[0]." + FIXED.format("y", "free.Key.p")[6:], "free.Key.p"),
    (b'{"id":1}', b'{"id":"x"}', "field id is a JSON text where a number is due", "free.Key"),
]


@pytest.mark.parametrize(("first", "second", "reason", "name"), PAIRS)
def test_a_task_takes_the_key_type_that_another_has_registered_meanwhile(first: bytes, second: bytes, reason: str, name: str) -> None:
    types = Shared()
    one, other = record_converter(FREE, types), record_converter(FREE, types)
    written: list[dict[bytes, bytes]] = []
    once(types, "look", name, lambda: written.append(keys_of(one, first)[0]))
    assert keys_of(other, second) == ({}, [reason])
    for task in (one, other, record_converter(FREE, types)):
        assert keys_of(task, first, second) == (written[0], [reason])
    assert len(types.known[java_hash(name.lower())].schemas) == 1


@pytest.mark.parametrize(("first", "second", "name"), [(*pair[:2], pair[3]) for pair in PAIRS[:4]])
def test_of_two_registrations_at_once_the_later_one_is_an_error_and_so_is_each_later_run(first: bytes, second: bytes, name: str) -> None:
    types = Shared()
    one, other = record_converter(FREE, types), record_converter(FREE, types)
    written: list[dict[bytes, bytes]] = []
    once(types, "send", name, lambda: written.append(keys_of(one, first)[0]))
    with pytest.raises(TypeClash, match=rf"2 forms of {name}, which makes keys .* name what makes its key in key_fields"):
        keys_of(other, second)
    assert keys_of(one, first) == (written[0], [])
    for key in (first, second):
        with pytest.raises(TypeClash, match=f"2 forms of {name}"):
            keys_of(record_converter(FREE, types), key)


def test_who_sees_both_forms_writes_none() -> None:
    types = Shared()
    both = GrowingTypes().add("free.Key", {"id": codes.LONG, "tenant": codes.STRING})
    for moment in ("send", "read back"):
        types.known.clear()
        once(types, moment, "free.Key", lambda: GrowingTypes.register(types, both))
        with pytest.raises(TypeClash, match=r"2 forms of free.Key, which makes keys \(id(, tenant)?; id(, tenant)?\)"):
            keys_of(record_converter(FREE, types), b'{"id":1}')


def test_a_key_type_of_several_forms_gets_no_further_one() -> None:
    types = GrowingTypes()
    held = types.add("free.Key", {"a": codes.LONG, "b": codes.LONG, "c": codes.LONG}, ["a", "b"], ["a", "c"])
    with pytest.raises(TypeClash, match=r"2 forms of free\.Key"):
        keys_of(record_converter(FREE, types), b'{"a":1}')
    assert types.known[held.type_id] is held


def test_a_declared_key_type_may_have_several_forms() -> None:
    columns = tuple(QueryField(name, "java.lang.Long", is_key=True) for name in ("a", "b"))
    cache = CacheInfo("declared", 1, query_entities=(QueryEntity("K", "java.lang.Long", fields=columns),))
    types = GrowingTypes()
    types.add("K", {"a": codes.LONG, "b": codes.LONG}, ["a"], ["a", "b"])
    assert keys_of(record_converter(cache, types), b'{"a":1}')[1] == []
    assert len(types.known[java_hash("k")].schemas) == 2


def test_tasks_that_register_one_form_at_once_go_on() -> None:
    types = Shared()
    one, other = record_converter(FREE, types), record_converter(FREE, types)
    written: list[dict[bytes, bytes]] = []
    for moment in ("look", "send", "read back"):
        once(types, moment, "free.Key", lambda: written.append(keys_of(one, b'{"b":1,"a":2}')[0]))
        found, bad = keys_of(other, b'{"a":2,"B":1}')
        assert (list(found.values()), bad) == (list(written[-1].values()), [])


def test_keys_of_the_place_in_kafka_meet_another_form() -> None:
    types = Shared()
    converter = record_converter(FREE, types, ConversionRules(key_policy="kafka"))
    once(types, "look", "free.Key", lambda: keys_of(record_converter(FREE, types), b'{"id":1}'))
    with pytest.raises(TypeClash, match="registered with other fields meanwhile"):
        converter.convert(consumed([b"1"]))


def test_types_of_values_grow_where_their_names_begin_as_those_of_keys() -> None:
    cache = CacheInfo("tested", 2, query_entities=(QueryEntity("Order", "Order.Line"),))
    converter = record_converter(cache, GrowingTypes())
    for value in (b'{"p":{"x":1}}', b'{"p":{"x":1,"y":2},"q":3}'):
        assert not converter.convert(consumed([value], [b'{"id":1}'])).bad


class Turns:
    """Lets one of several threads run at a time, and another at each moment of a registration, by chance."""

    def __init__(self, seed: int, works: Sequence[Callable[[], None]]) -> None:
        self._chance, self._now = generator(seed), threading.Condition()
        self._waiting, self._running, self._left = set(range(len(works))), -1, len(works)
        self._threads = [threading.Thread(target=self._run, args=(number, work)) for number, work in enumerate(works)]
        self._local = threading.local()

    def all(self) -> None:
        for thread in self._threads:
            thread.start()
        with self._now:
            self._next()
        for thread in self._threads:
            thread.join(DEADLINE_S)

    def moment(self, *_: str) -> None:
        """Give way, perhaps."""
        with self._now:
            self._waiting.add(self._local.number)
            self._next()
            self._now.wait_for(lambda: self._running == self._local.number)

    def _run(self, number: int, work: Callable[[], None]) -> None:
        self._local.number = number
        with self._now:
            self._now.wait_for(lambda: self._running == number)
        try:
            work()
        finally:
            with self._now:
                self._next()

    def _next(self) -> None:
        self._running = self._chance.choice(sorted(self._waiting)) if self._waiting else -1
        self._waiting.discard(self._running)
        self._now.notify_all()


def batches(chance: random.Random) -> Iterator[list[bytes]]:
    for _ in range(2):
        members = [name for name in ("id", "tenant", "z") if name == "id" or chance.random() < 0.3]
        yield [f"{{{','.join(f'{name!r}:{number}' for name in members)}}}".replace("'", '"').encode() for number in range(3)]


@pytest.mark.parametrize("seed", range(30))
def test_no_key_is_ever_written_in_two_forms(seed: int) -> None:
    chance = generator(seed)
    types, written, errors = Shared(), defaultdict[bytes, set[bytes]](set), []

    def task(given: list[list[bytes]]) -> Callable[[], None]:
        def work() -> None:
            converter = record_converter(FREE, types)
            try:
                for batch in given:
                    for text, key in keys_of(converter, *batch)[0].items():
                        written[text].add(key)
            except TypeClash as error:
                errors.append(error)

        return work

    for _ in range(2):  # a first start, and another one
        turns = Turns(chance.randrange(1 << 30), [task(list(batches(chance))) for _ in range(3)])
        types.at = turns.moment
        turns.all()
    assert written or errors
    assert all(len(forms) == 1 for forms in written.values())
    schemas = {key[_SCHEMA] for forms in written.values() for key in forms}
    assert len(schemas) <= 1
    if len(types.known[java_hash("free.key")].schemas) > 1:
        assert errors
