"""Records of comparisons in the status topic: ``["verify","<connector>","<run id>"]`` to :class:`ComparisonStatus`.

An app that compares in a cluster has no output that its submitter reads. So it reports here that it works, and at the
end its result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..common.typed_json import Milliseconds, dumps, read_as
from ..errors import IgniteKafkaError
from ..kafka.clients import REQUEST_TIMEOUT_S, KafkaClients
from .internal_records import InternalRecord
from .status import Count, StatusWriter, keep_newest, newest_record, parsed_record, read_records, run_id_of

KIND = "verify"
MOST_RESULT_BYTES = 900_000
"""Maximum size of a result in bytes, so that its record stays below the 1 MB that brokers accept by default."""
_MOST_NOTE_BYTES = 200
KEPT = 10
"""Number of a connector's comparisons whose records are kept."""
COUNTS = (
    "entries",
    "records",
    "repeated",
    "missing",
    "different",
    "unexpected",
    "skipped",
    "changing",
    "other_bytes",
)
"""Names of the counts that a result has of each cache, besides `repaired`."""


@dataclass(frozen=True)
class ComparisonStatus:
    """Status record of a comparison. Times are in milliseconds since 1970.

    :param state: RUNNING, COMPLETED or FAILED.
    :param step: what is done now.
    :param done: finished tasks of that step, of `tasks`.
    :param result: result of a completed comparison, from :meth:`.connector.VerifyResult.to_dict`.
    :param error: error of a failed comparison, from :meth:`~ignite_kafka.errors.IgniteKafkaError.to_dict`.
    """

    state: str
    connector: str
    run_id: str
    step: str = ""
    done: Count = 0
    tasks: Count = 0
    started_ms: Milliseconds = 0
    ended_ms: Milliseconds | None = None
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None

    def to_json(self) -> bytes:
        """Serialize the status as the value of its record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> ComparisonStatus:
        """Parse a status written by :meth:`to_json`; fields of newer versions are ignored.

        :raises ValueError: the value has another form.
        """
        status = read_as(ComparisonStatus, value)
        if status.error is not None:
            IgniteKafkaError.from_dict(dict(status.error))
        return status


def bounded(result: Mapping[str, Any], most_bytes: int = MOST_RESULT_BYTES) -> Mapping[str, Any]:
    """Shorten a result to `most_bytes` by leaving out texts of differences, so that it fits into a Kafka record.

    The last texts of the last cache go first; counts stay. A shortened cache's last text says how many are left out.
    """
    caches = [dict(cache) for cache in result["caches"]]
    excess = _size(result) - most_bytes
    for cache in reversed(caches):
        if excess <= 0:
            break
        if differences := cache["differences"]:
            cache["differences"] = _shortened(differences, excess)
            excess -= _size(differences) - _size(cache["differences"])
    return {**result, "caches": caches}


def _shortened(differences: Sequence[Mapping[str, str]], excess: int) -> list[Mapping[str, str]]:
    """Drop the last differences until `excess` bytes are saved, and add a note with their number."""
    kept = list(differences)
    excess += _MOST_NOTE_BYTES
    while kept and excess > 0:
        excess -= _size(kept.pop()) + 1
    text = f"{len(differences) - len(kept)} texts are left out: the result is too large"
    return [*kept, {"kind": differences[0]["kind"], "text": text}]


def _size(value: object) -> int:
    """Measure a value's size as JSON in bytes, even beyond the limit of :func:`dumps`."""
    return len(json.dumps(value, separators=(",", ":")))


def write_comparison(writer: StatusWriter, status: ComparisonStatus, wait_s: float = REQUEST_TIMEOUT_S) -> None:
    """Write the status record of a comparison, and wait for the broker's confirmation.

    :raises KafkaUnavailable: the broker did not confirm the record, which may still be written.
    """
    if status.result is not None:
        status = replace(status, result=bounded(status.result))
    writer.send([KIND, status.connector, status.run_id], status.to_json(), wait_s)


def read_comparison(
    clients: KafkaClients, prefix: str, connector: str, run_id: str
) -> tuple[ComparisonStatus | None, int]:
    """Read a comparison's last status, and its record's timestamp in milliseconds since 1970.

    Return (None, 0) if there is no readable record.
    """
    return newest_record(clients, prefix, (KIND, connector, run_id), comparison_of)


def forget_comparisons(clients: KafkaClients, prefix: str, connector: str, kept: int = KEPT) -> None:
    """Remove all but the newest `kept` comparison records of a connector from the status topic.

    :raises KafkaUnavailable: the broker did not confirm the removal.
    """
    comparisons: dict[str, bytes] = {}
    for record in read_records(clients, prefix, connector):
        if (run_id := run_id_of(record, KIND)) is not None:
            keep_newest(comparisons, run_id, record, record.value)
    StatusWriter(clients, prefix).forget(connector, list(comparisons)[:-kept], kind=KIND)


def comparison_of(record: InternalRecord) -> ComparisonStatus | None:
    """Parse the comparison status in a record; None for a tombstone and, with an event, for an unreadable record."""
    return parsed_record(record, ComparisonStatus.from_dict, "it is no status of a comparison")
