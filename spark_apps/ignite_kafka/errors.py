"""Errors of this package. Each names the failure, its place, cause and remedy, and travels as JSON.

``exit_code`` is the exit code of a command that the error ends: 2 for settings, 3 for ``Fenced``, 4 for
``OutcomeUnknown``, 1 for others. ``final`` is False where a retry of the same run may succeed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

_ANCHORS: dict[str, str] = {}


def describe_settings(anchors: Mapping[str, str]) -> None:
    """Let errors about settings name the place of the settings page that describes them. The settings classes call it.

    :param anchors: anchors of docs/settings.md by names of settings, which stand for all longer names, too:
        ``transforms`` for ``transforms.route.type``.
    """
    _ANCHORS.update(anchors)


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
        return f"{text}. {self.advice}" if self.advice else text

    @property
    def advice(self) -> str:
        """The remedy, and the place of the settings page that describes the setting in `where`."""
        page = _page_of(self.where.get("setting"))
        if page.startswith(self.remedy):  # which only names the page, or is empty
            return page
        end = "" if not (page and self.remedy) else " " if self.remedy.endswith((".", "?", "!")) else ". "
        return f"{self.remedy}{end}{page}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return a form for JSON: type, what, remedy, where."""
        where = {
            name: value if isinstance(value, (int, float, str, bool)) else str(value)
            for name, value in self.where.items()
        }
        return {"type": type(self).__name__, "what": self.what, "remedy": self.remedy, "where": where}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> IgniteKafkaError:
        """Return the error that ``to_dict`` described; an unknown type becomes the base class.

        :raises ValueError: type, what and remedy are no texts, or where is no object of texts, numbers and booleans.
        """
        return _rebuild(data)


class SettingsError(IgniteKafkaError):
    """A setting is unknown, contradictory or out of range."""

    exit_code = 2


class NotAvailableYet(IgniteKafkaError):
    """A known setting asks for a feature that this version does not have."""

    exit_code = 2


class UnsupportedVersion(IgniteKafkaError):
    """A version of Spark, or a kind of session, without a feature of the request."""

    exit_code = 2


class IgniteUnreachable(IgniteKafkaError):
    """No address of the cluster answered. A retry may succeed."""

    final = False


class AuthenticationFailed(IgniteKafkaError):
    """Ignite or Kafka refused the credentials."""


class CacheNotFound(IgniteKafkaError):
    """A named cache does not exist."""


class CacheDestroyed(IgniteKafkaError):
    """A cache was destroyed, or destroyed and created again, while it was read."""


class ScanFailed(IgniteKafkaError):
    """A partition could not be read to its end. A retry reads it again."""

    final = False


class DecodeError(IgniteKafkaError):
    """Bytes do not decode; `where` has cache, partition, type id and position."""


class UnknownBinaryType(DecodeError):
    """The cluster holds no metadata of the binary type of an entry."""


class UnsupportedType(IgniteKafkaError):
    """A converter or a column cannot hold a type."""


class ValueNotWritten(UnsupportedType):
    """A value that Kafka Connect has a type for, and its converter has no form for."""


class ConditionFailed(IgniteKafkaError):
    """A condition fails for an entry, for which Spark SQL would end the query with an error."""


class TransformFailed(IgniteKafkaError):
    """A transform throws an exception for an entry or a record.

    `where` has its alias, its class and the exception's class.
    """


class AmbiguousKeys(IgniteKafkaError):
    """A cache has keys of two types that can give the same Kafka key."""


class EncodeError(IgniteKafkaError):
    """A value does not fit its Ignite type; `where` has field and row."""


class TypeClash(IgniteKafkaError):
    """A binary type of the cluster has a field of the same name and another type."""


class WriteFailed(IgniteKafkaError):
    """A node refused to put, remove or create something; `where` has cache, node and address."""


class EntriesRefused(WriteFailed):
    """A column of the cache's table does not accept a value, or the nodes lack the Java class of one."""


class TopicError(IgniteKafkaError):
    """A topic is missing, refused, or has another partition count."""


class RecordsLost(IgniteKafkaError):
    """Records were deleted from a topic before they were read."""


class RecordsOvertaken(IgniteKafkaError):
    """Records were deleted from a topic during a run. A retry looks up where to continue."""

    final = False


class RecordRefused(IgniteKafkaError):
    """A record cannot be stored; `where` has topic, partition and offset."""


class ProgramFault(IgniteKafkaError):
    """An internal error; `where` has topic, partition, and the first and last offset of the records at hand."""


class RecordTooLarge(IgniteKafkaError):
    """A record is larger than the topic or the producer allows."""


class KafkaUnavailable(IgniteKafkaError):
    """A broker did not answer in time, before any commit. A retry may succeed."""

    final = False


class RegistryUnavailable(IgniteKafkaError):
    """The schema registry did not answer in time, or could not do its work. A retry may succeed."""

    final = False


class RegistryError(IgniteKafkaError):
    """The schema registry refused a schema, credentials or an id.

    `where` has subject, id and its URL without credentials.
    """


class TransactionTimeout(IgniteKafkaError):
    """A transaction was not committed before its timeout: of a run, `transaction_timeout_ms`."""


class BacklogMissing(IgniteKafkaError):
    """No node has the jar of the backlog service."""


class BacklogRefused(IgniteKafkaError):
    """The backlog service refused a call; `where` has its `code`."""


class AnswerTooLarge(IgniteKafkaError):
    """A node announced an answer of more than `ignite_max_frame_bytes`."""


class BacklogUnavailable(IgniteKafkaError):
    """The nodes could not execute a call of the backlog service. A retry may succeed."""

    final = False


class Interrupted(IgniteKafkaError):
    """The user (Ctrl-C) or the system (SIGTERM) ended the run. The next run continues."""

    exit_code = 130  # of a command that Ctrl-C ended, as shells report it
    final = False


class TaskFailed(IgniteKafkaError):
    """A Spark task ended without results. What it committed stays; the next run continues after it."""

    final = False


class CallsStuck(IgniteKafkaError):
    """Too many calls of librdkafka in this process have not returned.

    No retry in this process can succeed; a new process can.
    """


class LocalDiskFull(IgniteKafkaError):
    """A local folder is full, over quota or read-only; `where` has the path and, on this host, the free bytes.

    A retry may succeed.
    """

    final = False


class PortTaken(IgniteKafkaError):
    """Another process listens on the port of the metrics endpoint. A retry may succeed."""

    final = False


class NotStopped(IgniteKafkaError):
    """A cleanup or a change of offsets needs a connector that ended gracefully, and the newest run did not."""


class Retired(IgniteKafkaError):
    """A role transition ended the connector, and no run of it may begin: its pair copies in the other direction."""


class RoleTransitionRefused(IgniteKafkaError):
    """A role transition cannot begin, or its next step cannot be done; what it did so far is kept."""


class ChangesLost(IgniteKafkaError):
    """Changes of some partitions were not captured, and the settings forbid to load these partitions again."""


class Fenced(IgniteKafkaError):
    """A newer run of the same connector, a repair, or a change of its offsets has taken over."""

    exit_code = 3


class NewerFormat(IgniteKafkaError):
    """A newer version wrote a record of an internal topic on which delivery depends."""


class OffsetsLost(IgniteKafkaError):
    """The offsets topic of a known connector is missing or unreadable."""


class SnapshotConflict(IgniteKafkaError):
    """Caches or settings differ from the ones fixed under the snapshot id."""


class OutcomeUnknown(IgniteKafkaError):
    """A commit or a put has no answer: it is neither done nor failed."""

    exit_code = 4


def _page_of(setting: object) -> str:
    name = str(setting)
    while name and name not in _ANCHORS:
        name = name.rpartition(".")[0]
    return f"See docs/settings.md#{_ANCHORS[name]}" if name else ""


def _subclasses(root: type[IgniteKafkaError]) -> dict[str, type[IgniteKafkaError]]:
    classes = {root.__name__: root}
    for child in root.__subclasses__():
        classes |= _subclasses(child)
    return classes


def _rebuild(data: dict[str, Any]) -> IgniteKafkaError:
    name = data.get("type", "")
    remedy = data.get("remedy", "")
    where = data.get("where", {})
    what = data["what"] if "what" in data else json.dumps(data)
    if not all(isinstance(part, str) for part in (name, what, remedy)):
        raise ValueError("type, what and remedy of an error are texts")
    if not isinstance(where, dict) or not all(isinstance(value, str | int | float) for value in where.values()):
        raise ValueError("where of an error has texts, numbers and booleans")
    error = _subclasses(IgniteKafkaError).get(name, IgniteKafkaError)(what, remedy)
    error.where = dict(where)  # its names may be those of parameters
    return error
