"""Actions of the page on a connector: pause, resume, stop, resend, reset, replay, and signals.

Each function calls :mod:`ignite_kafka.admin`, and blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.plugins.connections import connector_access
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.admin import backlog, dead_letters, offsets, signals, sink_offsets
from ignite_kafka.admin.target_state import request_target_state
from ignite_kafka.cli import render
from ignite_kafka.cli.dead_letters import replay_text
from ignite_kafka.cli.signals import requested_text
from ignite_kafka.errors import SettingsError
from ignite_kafka.state.signal_records import CacheSelection
from ignite_kafka.state.target_state import PAUSED, RUNNING, STOPPED

Form = Mapping[str, str]
_MOST_PARTITIONS = 65_536
_REPLAY_S = 40.0  # time to read the topics, below the page's limit for an action


@dataclass(frozen=True)
class Action:
    """An action behind a button of the page, such as pause or reset.

    :param run: performs the action on a connector of a cluster with the fields of a form; returns a text about the
        result.
    :param confirmed_by_name: the form must contain the connector's name, typed by the user.
    """

    run: Callable[[MonitoredCluster, str, Form], str]
    confirmed_by_name: bool = False


def perform(action: Action, cluster: MonitoredCluster, connector: str, form: Form) -> str:
    """Perform an action on a connector, and return the text about its result shown to the user.

    :raises IgniteKafkaError: the action is refused, a field of the form is wrong, or a cluster did not answer.
    """
    if action.confirmed_by_name and form.get("typed_name", "").strip() != connector:
        raise SettingsError("the typed name is not the connector's name", "Type it to confirm.", connector=connector)
    try:
        return action.run(cluster, connector, form)
    except AirflowException as error:  # for example, the connection does not exist
        raise SettingsError(str(error), "Correct the connection: Admin > Connections.") from error


def _target(state: str) -> Callable[[MonitoredCluster, str, Form], str]:
    def run(cluster: MonitoredCluster, connector: str, form: Form) -> str:
        access = connector_access(cluster, connector)
        return render.target_state(request_target_state(access.settings, access.secrets, state))

    return run


def _resend(cluster: MonitoredCluster, connector: str, form: Form) -> str:
    cache = form.get("cache", "").strip()
    if not cache:
        raise SettingsError("no cache is given", "Choose the cache to send again.", connector=connector)
    access = connector_access(cluster, connector, ignite=True)
    return render.resend(backlog.resend(access.settings, access.secrets, cache, _partition(form)))


def _reset(cluster: MonitoredCluster, connector: str, form: Form) -> str:
    """Reset a connector's offsets: remove those of a source, or move a sink's to the form's position."""
    what = "topic" if "to" in form else "cache"
    name = form.get(what, "").strip() or None
    partition = _partition(form)
    if name is None and partition is not None:
        raise SettingsError(f"a partition is given without its {what}", f"Choose the {what} too.", partition=partition)
    access = connector_access(cluster, connector)
    if "to" in form:
        return render.moved_offsets(sink_offsets.move(access.settings, access.secrets, form["to"], name, partition))
    return render.reset_offsets(offsets.reset(access.settings, access.secrets, name, partition))


def _replay(cluster: MonitoredCluster, connector: str, form: Form) -> str:
    access = connector_access(cluster, connector)
    return replay_text(dead_letters.replay(access.settings, access.secrets, _REPLAY_S))


def _snapshot(cluster: MonitoredCluster, connector: str, form: Form) -> str:
    """Request an ad-hoc snapshot of a cache, or of one partition of it."""
    cache = form.get("cache", "").strip()
    if not cache:
        raise SettingsError("no cache is given", "Choose the cache to send from.", connector=connector)
    partition = _partition(form)
    partitions = () if partition is None else (partition,)
    chosen = CacheSelection(cache, form.get("where", "").strip(), partitions=partitions)
    access = connector_access(cluster, connector)
    requested = signals.request_snapshot(access.settings, access.secrets, [chosen], origin="page")
    return requested_text(requested, names_list=False)


def _change_signal(action: str) -> Callable[[MonitoredCluster, str, Form], str]:
    def run(cluster: MonitoredCluster, connector: str, form: Form) -> str:
        signal = form.get("signal", "").strip()
        if not signal:
            raise SettingsError("no signal is given", "Choose one.", connector=connector)
        access = connector_access(cluster, connector)
        changed = signals.change_signals(access.settings, access.secrets, action, signal)
        return requested_text(changed, names_list=False)

    return run


def _partition(form: Form) -> int | None:
    text = form.get("partition", "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) >= _MOST_PARTITIONS:
        raise SettingsError(
            f"{text!r} is no partition", f"Give a whole number from 0 to {_MOST_PARTITIONS - 1}, or leave it empty."
        )
    return int(text)


ACTIONS: Mapping[str, Action] = {
    "pause": Action(_target(PAUSED)),
    "resume": Action(_target(RUNNING)),
    "stop": Action(_target(STOPPED), confirmed_by_name=True),
    "resend": Action(_resend),
    "reset": Action(_reset, confirmed_by_name=True),
    "replay": Action(_replay, confirmed_by_name=True),
    "snapshot": Action(_snapshot),
    "pause-signal": Action(_change_signal("pause")),
    "resume-signal": Action(_change_signal("resume")),
    "stop-signal": Action(_change_signal("stop")),
}
