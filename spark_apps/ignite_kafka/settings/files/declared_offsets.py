"""Offsets declared in a connector file, in the form of Kafka Connect's REST interface (KIP-875)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import SettingsError
from ..fields import whole_number

_NUMBER = whole_number(0)
_SOURCE = ("cache", "partition")
_SINK = ("kafka_topic", "kafka_partition")
_FORM = {
    False: '{"partition": {"cache": "flights", "partition": 3}, "offset": {"sent": 100}}; null instead of the offset '
    "removes it",
    True: '{"partition": {"kafka_topic": "flights", "kafka_partition": 3}, "offset": {"kafka_offset": 100}}',
}


@dataclass(frozen=True, order=True)
class DeclaredOffset:
    """An offset that a connector file requires, for a cache partition or a topic's partition.

    :param name: cache of a source, topic of a sink.
    :param position: for a source the highest update counter sent, for a sink the offset of the next record; None: no
        position, everything is copied again.
    """

    name: str
    partition: int
    position: int | None


def parse_offsets(raw: object, *, sink: bool) -> tuple[DeclaredOffset, ...]:
    """Parse the offsets of a connector file: a list, an object with the list as ``offsets``, or JSON text of either.

    :raises SettingsError: an offset has another form, or two offsets have the same partition.
    """
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError as error:
            raise SettingsError(f"the offsets are not JSON: {error}", setting="offsets") from error
        except RecursionError:
            raise SettingsError("the offsets are nested too deeply", setting="offsets") from None
    items = raw.get("offsets") if isinstance(raw, Mapping) else raw
    if not isinstance(items, list):
        raise SettingsError("offsets is no list", f"Each item is {_FORM[sink]}", setting="offsets")
    offsets = tuple(_parse(item, sink) for item in items)
    places = [(offset.name, offset.partition) for offset in offsets]
    if twice := [place for place in places if places.count(place) > 1]:
        raise SettingsError(f"two offsets are of partition {twice[0][1]} of {twice[0][0]}", setting="offsets")
    return offsets


def _parse(item: Any, sink: bool) -> DeclaredOffset:
    name, number = _SINK if sink else _SOURCE
    try:
        place = item["partition"]
        offset = item["offset"]
        return DeclaredOffset(str(place[name]), _whole(place[number]), _position(offset, sink))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise SettingsError(
            f"an offset has another form: {json.dumps(item)}", f"Its form is {_FORM[sink]}", setting="offsets"
        ) from error


def _position(offset: Any, sink: bool) -> int | None:
    if sink:
        return _whole(offset["kafka_offset"] if "kafka_offset" in offset else offset["offset"])
    if offset is None:
        return None
    if "sent" in offset:
        return _whole(offset["sent"])
    # in the form printed by `ignite-kafka offsets show --json`
    return _whole(offset["ranges"][-1][1]) if offset["ranges"] else None


def _whole(value: object) -> int:
    number = _NUMBER.parse(value)
    assert isinstance(number, int)
    return number
