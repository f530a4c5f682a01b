"""JSON with schemas that differ from record to record gives in one batch what each record gives alone."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.convert.json_with_schemas.deserializer import ConnectJsonDeserializer
from ignite_kafka.convert.to_ignite.conversion_rules import ConversionRules, SideRules
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.randomness import examples, generator
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
WITH_SCHEMAS = ConversionRules(SideRules("json"), SideRules("json", {"schemas.enable": "true"}))
INT, STRING, DECIMAL = {"type": "int32"}, {"type": "string"}, "org.apache.kafka.connect.data.Decimal"
# how often a record is unlike those of a source that leaves out null fields
ODD = {"never": 0.0, "now and then": 0.02, "often": 0.3}


# an object without fields, which says nothing of its type: a record of the batch that does may come after it
KNOWS_NO_FIELD = re.compile(r"without fields, and \w+ has no such field|is an object of \w+, of which no field is known")


class Maker:
    """Random records of STRUCTs, whose fields are there or not."""

    def __init__(self, rng: random.Random, odd: float) -> None:
        self._rng, self._odd = rng, odd

    def record(self) -> bytes:
        schema, payload = self.struct(self._rng.choice(["T", "T", "U"]), 0)
        members = {"schema": schema, "payload": payload}
        if self._rng.random() < self._odd / 2:
            members = dict(reversed(members.items()))
        text = json.dumps(members, separators=self._rng.choice([(",", ":"), (", ", ": ")]))
        return (self._rng.choice(["{}", "", '{"schema":null}', "{]}"]) if self.is_odd() else text).encode()

    def is_odd(self) -> bool:
        return self._rng.random() < self._odd

    def struct(self, name: str, depth: int) -> tuple[dict[str, Any], Any]:
        fields: list[dict[str, Any]] = []
        payload: dict[str, Any] = {}
        for field in (f"{name.lower()}{depth}{number}" for number in range(6)):
            if self._rng.random() < 0.4:
                continue
            schema, value = self.member(field, depth)
            if self.is_odd():
                schema |= self._rng.choice([{"optional": False}, {"optional": True, "default": None}, {"optional": True, "default": 3}])
                value = self._rng.choice([value, None])
            fields.append({**schema, "field": field})
            payload[field] = value
            if self.is_odd():
                fields, payload = self._rng.choice([(fields, payload | {field: "other"}), (fields, {}), (fields[:-1], payload)])
        return {"type": "struct", "fields": fields, "optional": True, "name": name}, payload

    def member(self, field: str, depth: int) -> tuple[dict[str, Any], Any]:
        number = int(field[-1])
        if number == 0 and self.is_odd():  # whichever record comes first decides about the type
            return {**STRING, "optional": True}, "a text"
        if number < 2 or depth > 1:
            return {**INT, "optional": True}, self._rng.randrange(100)
        if number == 2:
            return {**STRING, "optional": True}, self._rng.choice(["x", 'y,"payload":{', None])
        if number == 3:
            scaled = {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}, "optional": True}
            return scaled, self._rng.choice(["AQI=", "1234", None])
        if number == 4:
            return self.struct(f"{field}o", depth + 1)
        elements = [self.struct(f"{field}e", 2) for _ in range(self._rng.randrange(3))]
        names = dict.fromkeys(one["field"] for schema, _ in elements for one in schema["fields"])
        of_name = {one["field"]: one for schema, _ in elements for one in schema["fields"]}
        item = {"type": "struct", "fields": [of_name[one] for one in names], "optional": True, "name": f"{field}e"}
        return {"type": "array", "items": item, "optional": True}, [value for _, value in elements]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("seed", range(examples(12)))
def test_a_batch_gives_what_its_records_give_one_by_one(seed: int, odd: str) -> None:
    maker = Maker(generator(seed), ODD[odd])
    texts = [maker.record() for _ in range(80)]
    types, alone = GrowingTypes(), GrowingTypes()
    whole = record_converter(FREE, types, WITH_SCHEMAS).convert(consumed(texts))
    one_by_one = record_converter(FREE, alone, WITH_SCHEMAS)
    singles = [one_by_one.convert(consumed([text], [str(row).encode()])) for row, text in enumerate(texts)]
    of_batch = {bad.row: bad.reason for bad in whole.bad}
    of_singles = {row: bad.reason for row, found in enumerate(singles) for bad in found.bad}
    unknown_alone = {row for row in of_singles.keys() - of_batch.keys() if KNOWS_NO_FIELD.search(of_singles[row])}
    assert of_batch.keys() == of_singles.keys() - unknown_alone
    other_reasons = [row for row, reason in of_batch.items() if reason != of_singles[row]]
    assert [of_singles[row] for row in other_reasons if not KNOWS_NO_FIELD.search(of_singles[row])] == []
    made = {row: value for row, (_, value) in zip(whole.rows.tolist(), decoded(whole, types), strict=True)}
    assert made.keys() == set(range(len(texts))) - of_batch.keys()
    for row, found in enumerate(singles):
        for _, value in decoded(found, alone):
            assert without_nulls(made[row]) == without_nulls(value), texts[row]
    learned, one_after_the_other = fields_by_type(types), fields_by_type(alone)
    if any(re.search(rb'"fields": ?\[\]', text) for text in texts):
        # its field has the place of the record that tells its type, of the whole batch or of those before it
        learned, one_after_the_other = ({name: sorted(fields) for name, fields in of.items()} for of in (learned, one_after_the_other))
    assert learned == one_after_the_other


def fields_by_type(types: GrowingTypes) -> dict[str, list[tuple[str, int]]]:
    return {kind.name: [(field.name, field.type_code) for field in kind.fields] for kind in types.known.values()}


def without_nulls(value: Any) -> Any:
    """Fields that the type got later are null in the objects of a batch."""
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    if not hasattr(value, "fields"):
        return value
    return value.type_name, {name: without_nulls(one) for name, one in value.fields.items() if one is not None}


def test_schemas_without_a_contradiction_are_one_part() -> None:
    maker = Maker(random.Random(1), 0)
    texts = pa.array([maker.record() for _ in range(400)], pa.binary())
    found = ConnectJsonDeserializer().deserialize_joined(texts, "t")
    assert not found.bad
    # besides them those that were read before the others were found to differ, and STRUCTs without fields
    merged = [part for part in found.parts if part.rows.size > 20]
    assert len(merged) == 2
    assert sum(part.rows.size for part in merged) > 380
    assert sum(part.rows.size for part in found.parts) == 400


def test_a_record_that_is_spelled_otherwise_decides_in_its_turn() -> None:
    """Its field is a text from then on; a later record, which is read with those before it, does not make it a number."""
    texts = [numbered(row) for row in range(40)]
    texts[20] = json.dumps(dict(reversed(envelope({"f": STRING}, {"f": "text"}).items()))).encode()
    texts[30] = json.dumps(envelope({"f": INT}, {"f": 1})).encode()
    types = GrowingTypes()
    found = record_converter(FREE, types, WITH_SCHEMAS).convert(consumed(texts))
    assert [bad.row for bad in found.bad] == [30]
    assert found.rows.tolist() == [row for row in range(40) if row != 30]


def numbered(row: int) -> bytes:
    """A record with a field of its own."""
    return json.dumps(envelope({f"n{row}": INT}, {f"n{row}": row})).encode()


def envelope(fields: dict[str, dict[str, Any]], payload: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "struct", "name": "T", "fields": [{**schema, "optional": True, "field": name} for name, schema in fields.items()]}
    return {"schema": schema, "payload": payload}
