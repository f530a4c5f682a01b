"""The error tree. Each error names what failed, where, why and what to do, and travels between processes as JSON.

IgniteKafkaError
├── SettingsError            a setting is unknown, contradictory or out of range            (exit code 2)
├── NotAvailableYet          a known setting whose feature this version does not have       (exit code 2)
├── IgniteUnreachable        no address of the cluster answered                             retriable
├── AuthenticationFailed     Ignite or Kafka refused the credentials
├── CacheNotFound            a named cache is not there
├── CacheDestroyed           a cache went away, or was made again, while it was read
├── ScanFailed               a partition could not be read to its end; its unit is redone   retriable
├── DecodeError              bytes that do not decode: cache, partition, type id, position
│   └── UnknownBinaryType    the cluster holds no metadata of a type that an entry has
├── UnsupportedType          a converter or column cannot hold a type
├── AmbiguousKeys            keys of a cache are of two types that can give the same Kafka key
├── EncodeError              a value that its Ignite type cannot hold: field, row
├── TypeClash                a binary type of the cluster has a field of another type
├── WriteFailed              a node refused to put, remove or make something: cache, node, address
│   └── EntriesRefused       a column of the cache's table does not take the value of some entry
├── TopicError               a topic is missing, refused, or has another partition count
├── RecordsLost              records were deleted from a topic before they were read
├── RecordsOvertaken         the same amid a run, which looks again where to go on          retriable
├── RecordRefused            a record cannot be stored: topic, partition, offset
├── ProgramFault             this program failed where it must not: topic, partition, first and last offset of the records at hand
├── RecordTooLarge           a record is larger than the topic or the producer allows
├── KafkaUnavailable         the broker did not answer in time, before any commit           retriable
├── TransactionTimeout       a unit did not finish within `transaction_timeout_ms`
├── BacklogMissing           no node has the jar of the backlog service
├── BacklogRefused           the backlog service refused a call; `code` says why
├── BacklogUnavailable       the nodes could not do what the backlog service was asked    retriable
├── Interrupted              the user (Ctrl-C) or the system (SIGTERM) ended the run       retriable
├── NotStopped               a cleanup or a change of offsets while the connector's newest run has not ended as it must
├── ChangesLost              changes of some partitions were not captured, and they are not to be reloaded
├── Fenced                   a newer run of the same connector has taken over               (exit code 3)
├── NewerFormat              a newer version wrote a record of an internal topic that decides what is sent
├── OffsetsLost              the offsets topic of a known connector is missing or unreadable
├── SnapshotConflict         caches or settings differ from those fixed under the snapshot id
└── OutcomeUnknown           a commit or a put was asked for and no answer came: neither done nor failed (exit code 4)
"""

from __future__ import annotations

import json
from typing import Any, ClassVar


class IgniteKafkaError(Exception):
    """Base of all errors of this package.

    :param what: what failed and why, one sentence.
    :param remedy: what the reader can do about it, one sentence.
    :param where: named places: cache, partition, topic, offset, setting, address, type_id, position.
    """

    final: ClassVar[bool] = True
    exit_code: ClassVar[int] = 1
    findings: tuple[IgniteKafkaError, ...] = ()
    """Of an error that stands for several: each of them. The text has them all; this does not travel."""

    def __init__(self, what: str, remedy: str = "", **where: Any) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.where = {name: value for name, value in where.items() if value is not None}

    def __str__(self) -> str:
        places = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.where.items())
        text = f"{self.what} [{places}]" if places else self.what
        return f"{text}. {self.remedy}" if self.remedy else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: type, what, remedy, where."""
        where = {name: value if isinstance(value, (int, float, str, bool)) else str(value) for name, value in self.where.items()}
        return {"type": type(self).__name__, "what": self.what, "remedy": self.remedy, "where": where}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> IgniteKafkaError:
        """The error that :meth:`to_dict` described; an unknown type becomes the base class."""
        return _rebuild(data)


class SettingsError(IgniteKafkaError):
    exit_code = 2


class NotAvailableYet(IgniteKafkaError):
    exit_code = 2


class IgniteUnreachable(IgniteKafkaError):
    final = False


class AuthenticationFailed(IgniteKafkaError):
    pass


class CacheNotFound(IgniteKafkaError):
    pass


class CacheDestroyed(IgniteKafkaError):
    pass


class ScanFailed(IgniteKafkaError):
    final = False


class DecodeError(IgniteKafkaError):
    pass


class UnknownBinaryType(DecodeError):
    pass


class UnsupportedType(IgniteKafkaError):
    pass


class AmbiguousKeys(IgniteKafkaError):
    pass


class EncodeError(IgniteKafkaError):
    pass


class TypeClash(IgniteKafkaError):
    pass


class WriteFailed(IgniteKafkaError):
    pass


class EntriesRefused(WriteFailed):
    pass


class TopicError(IgniteKafkaError):
    pass


class RecordsLost(IgniteKafkaError):
    pass


class RecordsOvertaken(IgniteKafkaError):
    final = False


class RecordRefused(IgniteKafkaError):
    pass


class ProgramFault(IgniteKafkaError):
    pass


class RecordTooLarge(IgniteKafkaError):
    pass


class KafkaUnavailable(IgniteKafkaError):
    final = False


class TransactionTimeout(IgniteKafkaError):
    pass


class BacklogMissing(IgniteKafkaError):
    pass


class BacklogRefused(IgniteKafkaError):
    pass


class BacklogUnavailable(IgniteKafkaError):
    final = False


class Interrupted(IgniteKafkaError):
    final = False


class NotStopped(IgniteKafkaError):
    pass


class ChangesLost(IgniteKafkaError):
    pass


class Fenced(IgniteKafkaError):
    exit_code = 3


class NewerFormat(IgniteKafkaError):
    pass


class OffsetsLost(IgniteKafkaError):
    pass


class SnapshotConflict(IgniteKafkaError):
    pass


class OutcomeUnknown(IgniteKafkaError):
    exit_code = 4


def _subclasses(root: type[IgniteKafkaError]) -> dict[str, type[IgniteKafkaError]]:
    found = {root.__name__: root}
    for child in root.__subclasses__():
        found |= _subclasses(child)
    return found


def _rebuild(data: dict[str, Any]) -> IgniteKafkaError:
    kind = _subclasses(IgniteKafkaError).get(data.get("type", ""), IgniteKafkaError)
    return kind(data.get("what", json.dumps(data)), data.get("remedy", ""), **data.get("where", {}))
