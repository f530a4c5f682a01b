"""JSON Schemas of what each command prints with ``--json``; ``ignite-kafka schema COMMAND`` prints them.

Types that commands print are imported here, so this module is loaded for schemas only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..admin.backlog import BacklogView, CleanupResult, Resend
from ..admin.connectors import DeletedConnector, RestartRequest
from ..admin.dead_letters import DeadLetterList, Replay
from ..admin.delivery import SinkDelivery
from ..admin.findings import Finding
from ..admin.offsets import ResetOffsets
from ..admin.signals import RequestedSignals, SignalList, SignalView
from ..common.event_log import Occurrence
from ..role_transitions.failback import UnsentReport
from ..role_transitions.steps import TransitionResult
from ..state.comparisons import COUNTS
from ..state.configs import ConnectorRecord
from ..state.status import RunStatus
from .all_connectors import ConnectorLine, ConnectorList
from .connectors import ListedConnectors
from .file_results import ErrorForm, MigrationResult, ValidationResult
from .sink_views import SinkPlanView
from .type_schemas import Schema, any_of, array_of, described, map_of, nullable, object_of, schema_of
from .views import PlanView

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ERROR = "error"
"""Name of the schema of the last line on stderr after a failure, which all commands share."""
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}


def _error() -> Schema:
    return object_of({"error": schema_of(ErrorForm), "exit_code": _NUMBER})


def _plan() -> Schema:
    difference = {
        "connector": _TEXT,
        "file": _TEXT,
        "what": described(_TEXT, "state, offset, setting, not started, no file or broken"),
        "place": described(_TEXT, "name of a setting, or partition of an offset"),
        "declared": described({}, "value of the file"),
        "found": described({}, "value in Kafka"),
        "note": _TEXT,
    }
    return any_of(
        described(schema_of(PlanView), "of a source"),
        described(schema_of(SinkPlanView), "of a sink"),
        described(array_of(object_of(difference)), "of a folder"),
    )


def _doctor() -> Schema:
    return object_of({"works": _FLAG, "findings": array_of(schema_of(Finding))})


def _apply() -> Schema:
    return array_of(object_of({"connector": _TEXT, "action": _TEXT, "done": _FLAG}))


def _runs() -> Schema:
    run = described(nullable(schema_of(RunStatus)), "record of the run; null: it did not end successfully")
    return object_of({"runs": map_of(run)})


def _run() -> Schema:
    return any_of(
        described(schema_of(RunStatus), "of one connector"),
        described(_runs(), "of several connectors, by name"),
    )


def _verify() -> Schema:
    difference = object_of({"kind": _TEXT, "text": _TEXT})
    cache = {
        "cache": _TEXT,
        "topic": _TEXT,
        **dict.fromkeys(COUNTS, _COUNT),
        "repaired": _COUNT,
        "equal": described(_FLAG, "nothing differs, or all is repaired"),
        "differences": array_of(difference),
    }
    percent: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 100}
    return object_of(
        {
            "equal": _FLAG,
            "sample_percent": percent,
            "oldest_ms": described(
                nullable(_COUNT), "all keys of these caches were compared since; null: some never were"
            ),
            "gap": described(_TEXT, "why not all keys are compared within the named time; empty if they are"),
            "repair_refusal": described(_TEXT, "why nothing was repaired; empty otherwise"),
            "caches": array_of(object_of(cache)),
        }
    )


def _verify_history() -> Schema:
    counts = ("caches", "entries", "records", "missing", "different", "unexpected", "skipped", "changing", "repaired")
    past = {
        "id": _TEXT,
        "percent": {"type": "number", "minimum": 0, "maximum": 100},
        **dict.fromkeys(counts, _COUNT),
        "equal": described(_FLAG, "nothing differs, or all is repaired"),
        "within_ms": described(_COUNT, "named time; 0: none"),
        "gap": described(_TEXT, "why not all keys are compared within that time; empty if they are"),
        "started": _TEXT,
        "ended": _TEXT,
        "oldest": described(nullable(_TEXT), "all keys of these caches were compared since; null: some never were"),
    }
    return object_of({"connector": _TEXT, "comparisons": array_of(object_of(past))})


def _status() -> Schema:
    lost = object_of({"run_id": _TEXT, "silent_s": described(_COUNT, "seconds since the run's last report")})
    of_name = object_of(
        {
            "connector": nullable(schema_of(ConnectorRecord)),
            "target": described(nullable(_TEXT), "requested target state"),
            "delivery": described(
                nullable(schema_of(SinkDelivery)),
                "of a sink's newest run, and what it does not promise; null: a source",
            ),
            "snapshot": nullable(object_of({"id": _TEXT, "complete": _FLAG})),
            "runs": described(map_of(schema_of(RunStatus)), "by run id, oldest first"),
            "lost": nullable(lost),
            "signals": described(
                array_of(schema_of(SignalView)), "ad-hoc snapshots: failed since the newest run's start, or not ended"
            ),
        }
    )
    return any_of(
        described(of_name, "of a connector"),
        described(schema_of(ConnectorList), "of all connectors"),
        described(schema_of(ConnectorLine), "a line, with --watch"),
    )


def _events() -> Schema:
    event = {"id": _NUMBER, "severity": _TEXT, "cause": _TEXT, "action": _TEXT}
    times = {"first": _TEXT, "last": _TEXT}
    occurrence = object_of({**schema_of(Occurrence)["properties"], "at": _TEXT})
    counted = object_of({**event, "count": _COUNT, **times, "newest": array_of(occurrence)})
    return any_of(
        object_of({"connector": _TEXT, "events": array_of(counted)}),
        described(object_of({**event, "at": _TEXT, "text": _TEXT, "fields": map_of(_TEXT)}), "a line, with --follow"),
    )


def _target_state() -> Schema:
    run = nullable(schema_of(RunStatus))
    return object_of({"connector": _TEXT, "target": _TEXT, "run": run, "ended": _FLAG, "graceful": _FLAG})


def _topic_partition() -> Schema:
    return object_of({"kafka_topic": _TEXT, "kafka_partition": _COUNT})


def _offsets_show() -> Schema:
    snapshot = object_of({"id": _TEXT, "done": _FLAG, "records": _COUNT}, optional={"bad": _COUNT, "dropped": _COUNT})
    unit = object_of(
        {
            "generation": _COUNT,
            "incarnation": _TEXT,
            "snapshot": nullable(snapshot),
            "ranges": described(_ranges(), "update numbers that were sent"),
        },
        optional={"recent": {}, "sweep": {}, "key_kinds": {}, "topology": _NUMBER, "topic_id": _TEXT, "signal": {}},
    )
    copied = object_of({"kafka_offset": _COUNT, "topic_id": _TEXT, "generation": _COUNT})
    return any_of(
        described(
            object_of({"partition": object_of({"cache": _TEXT, "partition": _COUNT}), "offset": unit}),
            "a line for a cache partition of a source",
        ),
        described(
            object_of({"partition": _topic_partition(), "offset": copied}), "a line for a topic partition of a sink"
        ),
    )


def _ranges() -> Schema:
    return array_of(schema_of(tuple[int, int]))


def _offsets_alter() -> Schema:
    return object_of({"cache": _TEXT, "partition": _COUNT, "before": _ranges(), "after": _ranges()})


def _offsets_reset() -> Schema:
    moved = object_of({"partition": _topic_partition(), "before": nullable(_NUMBER), "after": _NUMBER})
    return any_of(
        described(schema_of(ResetOffsets), "of a source: removed offsets by cache"),
        described(object_of({"offsets": array_of(moved)}), "of a sink"),
    )


def _schema() -> Schema:
    return object_of({"$schema": {"const": DIALECT}, "title": _TEXT})


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "validate": lambda: schema_of(ValidationResult),
    "migrate": lambda: schema_of(MigrationResult),
    "plan": _plan,
    "doctor": _doctor,
    "apply": _apply,
    "run": _run,
    "replicate": _runs,
    "replicate switchover": lambda: schema_of(TransitionResult),
    "replicate failover": lambda: schema_of(TransitionResult),
    "replicate failback": lambda: any_of(
        described(schema_of(UnsentReport), "with --report"), described(schema_of(TransitionResult), "with a choice")
    ),
    "verify": _verify,
    "verify history": _verify_history,
    "status": _status,
    "events": _events,
    "pause": _target_state,
    "resume": _target_state,
    "stop": _target_state,
    "list": lambda: schema_of(ListedConnectors),
    "restart": lambda: schema_of(RestartRequest),
    "delete": lambda: schema_of(DeletedConnector),
    "serve": dict,
    "offsets show": _offsets_show,
    "offsets alter": _offsets_alter,
    "offsets reset": _offsets_reset,
    "dead-letters list": lambda: schema_of(DeadLetterList),
    "dead-letters replay": lambda: schema_of(Replay),
    "signal": lambda: any_of(
        described(schema_of(RequestedSignals), "of a request"), described(schema_of(SignalList), "of a list")
    ),
    "resend": lambda: schema_of(Resend),
    "backlog status": lambda: schema_of(BacklogView),
    "backlog cleanup": lambda: schema_of(CleanupResult),
    "completion": lambda: object_of({"shell": _TEXT, "script": _TEXT}),
    "schema": _schema,
    ERROR: _error,
}
"""Schema of a command's JSON by the command's path; :data:`ERROR` is of a failure."""


def output_schema(path: str) -> Schema:
    """Return the JSON Schema of what a command prints with ``--json``.

    :raises KeyError: there is no such command.
    """
    return {"$schema": DIALECT, "title": f"ignite-kafka {path}", **SCHEMAS[path]()}
