"""Signals in the internal topics: requests, what users want of them, and their ends in the configs topic; progress.

====================================== ================================================================================
key (JSON)                             value (JSON)
====================================== ================================================================================
``["signal","<name>"]``                :class:`.signal_records.SignalPosition` in the signal topic; its driver writes it
``["signal","<name>","<id>"]``         :class:`.signal_records.Signal`: a request; anyone writes it
``["signal","<name>","<id>","target"]``  ``{"state": "RUNNING"|"PAUSED"|"STOPPED"}``: anyone writes it
``["signal","<name>","<id>","end"]``   :class:`.signal_records.SignalStatus` of an ended signal; its driver writes it
``["forgotten-signals","<name>"]``     ``{"ids"}`` of ended signals whose ends were removed; its driver writes it
====================================== ================================================================================

The first two are written without a transaction and never under the control transactional id, so that they fence no
run (as :mod:`.target_state`). The end is written by the owner of the connector, in one transaction with tombstones
for the other two. The status topic has the progress meanwhile, under ``["signal","<name>","<id>"]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from ..common.typed_json import dumps, read_as
from ..errors import SettingsError
from ..kafka.clients import KafkaClients
from ..kafka.single_record import write_record
from ..kafka.topics import Topics
from .internal_names import configs_topic
from .internal_records import FORMAT_HEADERS, InternalRecord, read_internal_topic, report_skipped
from .signal_records import MOST_ENDED, MOST_FORGOTTEN, TARGETS, Signal, SignalPosition, SignalStatus, fault_of
from .status import parsed_record, read_records, run_id_of

KIND = "signal"
TARGET = "target"
END = "end"
FORGOTTEN = "forgotten-signals"


@dataclass(frozen=True)
class ForgottenEnds:
    """Ended signals whose ends are removed, to bound their number.

    :param removed: ids whose ends are to be removed now.
    :param ids: all ids that are remembered as forgotten from then on, oldest first.
    """

    removed: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


class SignalFold:
    """Signals of one connector, computed from its records in the order of the topic.

    :ivar requests: requests by id, in the order of their arrival.
    :ivar targets: what users want, by id; RUNNING where nothing is written.
    :ivar ends: ended signals by id, oldest first.
    :ivar forgotten: ids of ended signals whose ends were removed, oldest first.
    :ivar position: position in the signal topic; None: none is recorded.
    """

    def __init__(self, connector: str) -> None:
        self._name = connector
        self.requests: dict[str, Signal] = {}
        self.targets: dict[str, str] = {}
        self.ends: dict[str, SignalStatus] = {}
        self.forgotten: tuple[str, ...] = ()
        self.position: SignalPosition | None = None

    def add(self, record: InternalRecord) -> None:
        """Update the signals by a record; other records are ignored, and unreadable ones skipped with an event."""
        if record.name == self._name and record.kind == FORGOTTEN:
            forgotten = parsed_record(record, partial(read_as, ForgottenEnds), "it names no forgotten signals")
            self.forgotten = () if forgotten is None else forgotten.ids[-MOST_FORGOTTEN:]
        if (record.kind, record.name) != (KIND, self._name):
            return
        match record.rest:
            case ():
                self.position = parsed_record(record, partial(read_as, SignalPosition), "it is no position")
            case (str(id),):
                self._add_request(id, record)
            case (str(id), "target"):
                self._add_target(id, record)
            case (str(id), "end"):
                end = parsed_record(record, SignalStatus.from_dict, "it is no end of a signal")
                self.ends.pop(id, None)
                if end is not None:
                    self.ends[id] = end
            case _:
                report_skipped("its key is that of no signal", record.where)

    def _add_request(self, id: str, record: InternalRecord) -> None:
        if record.value is None:
            self.requests.pop(id, None)
            return
        signal = parsed_record(record, Signal.from_dict, "it is no signal")
        if signal is not None and signal.id == id and id not in self.requests:  # the first request of an id counts
            self.requests[id] = signal if signal.nonce else replace(signal, nonce=f"{record.where.get('offset')}")

    def _add_target(self, id: str, record: InternalRecord) -> None:
        value = record.optional_value()
        if value is None or value.get("state") not in TARGETS:
            self.targets.pop(id, None)
        else:
            self.targets[id] = str(value["state"])

    def copy(self) -> SignalFold:
        """Return the signals as they are now, which later records do not change."""
        fold = SignalFold(self._name)
        fold.requests, fold.targets, fold.ends = dict(self.requests), dict(self.targets), dict(self.ends)
        fold.position, fold.forgotten = self.position, self.forgotten
        return fold

    def forget_ends(self, more: int) -> ForgottenEnds:
        """Return the ended signals to forget if so many more end now; the caller records them."""
        removed = tuple(self.ends)[: max(0, len(self.ends) + more - MOST_ENDED)]
        kept = [id for id in self.forgotten if id not in removed]
        return ForgottenEnds(removed, (*kept, *removed)[-MOST_FORGOTTEN:])

    def has_ended(self, id: str) -> bool:
        """Return whether a signal has ended, as far as that is remembered."""
        return id in self.ends or id in self.forgotten

    @property
    def waiting(self) -> list[Signal]:
        """Signals that have not ended, in the order of their requests."""
        return [signal for id, signal in self.requests.items() if id not in self.ends]


def read_signals(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> SignalFold:
    """Read the signals of a connector from the configs topic."""
    fold = SignalFold(connector)
    for record, _ in read_internal_topic(clients, topics, configs_topic(prefix)):
        fold.add(record)
    return fold


def read_signal_progress(clients: KafkaClients, prefix: str, connector: str) -> dict[str, SignalStatus]:
    """Read the progress of the signals that runs have taken up, by id; ended ones are not among them."""
    return progress_of(read_records(clients, prefix, connector))


def progress_of(records: Iterable[InternalRecord]) -> dict[str, SignalStatus]:
    """Return the progress of signals by id, from records of the status topic in their order; others are ignored."""
    progress: dict[str, SignalStatus] = {}
    for record in records:
        if (id := run_id_of(record, KIND)) is None:
            continue
        status = parsed_record(record, SignalStatus.from_dict, "it is no progress of a signal")
        progress.pop(id, None)
        if status is not None:
            progress[id] = status
    return progress


def write_signal(clients: KafkaClients, topics: Topics, prefix: str, connector: str, signal: Signal) -> None:
    """Request an ad-hoc snapshot; return once the broker has confirmed the record.

    :raises SettingsError: the signal is too large, or names a cache twice.
    :raises TopicError: the configs topic does not exist, so no connector was ever started under this prefix.
    :raises KafkaUnavailable: the broker did not confirm it; it may still be written.
    """
    if fault := fault_of(signal):
        raise SettingsError(fault, "Correct the signal.", connector=connector, signal=signal.id[:200])
    _write(clients, topics, prefix, [KIND, connector, signal.id], signal.to_json(), "the signal")


def write_signal_target(
    clients: KafkaClients, topics: Topics, prefix: str, connector: str, signal_id: str, state: str
) -> None:
    """Request that a signal runs, pauses or stops; it raises as :func:`write_signal`.

    :raises ValueError: there is no such state.
    """
    if state not in TARGETS:
        raise ValueError(f"{state!r} is no state of a signal: {', '.join(TARGETS)}")
    _write(clients, topics, prefix, [KIND, connector, signal_id, TARGET], dumps({"state": state}), "the signal's state")


def _write(clients: KafkaClients, topics: Topics, prefix: str, key: list[str], value: bytes, what: str) -> None:
    topic = configs_topic(prefix)
    topics.partitions(topic)  # else a broker with auto.create.topics.enable would create it without compaction
    write_record(clients, topic, dumps(key), value, what, partition=0, headers=FORMAT_HEADERS, connector=key[1])
