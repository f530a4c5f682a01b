"""History of a connector's comparisons, for the command line and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..common.event_log import format_time
from ..kafka.clients import KafkaClients
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..state.comparison_history import PastComparison, read_history


@dataclass(frozen=True)
class ConnectorComparisons:
    """The last comparisons of a connector, newest first."""

    connector: str
    comparisons: Sequence[PastComparison]

    @property
    def newest(self) -> PastComparison | None:
        """The last comparison; None without one."""
        return self.comparisons[0] if self.comparisons else None

    def to_dict(self) -> dict[str, object]:
        """Return JSON-ready values, with times by ISO 8601."""
        return {"connector": self.connector, "comparisons": [_to_dict(past) for past in self.comparisons]}


def _to_dict(past: PastComparison) -> dict[str, object]:
    values = asdict(past)
    times = {name.removesuffix("_ms"): values.pop(name) for name in ("started_ms", "ended_ms", "oldest_ms")}
    return {**values, **{name: None if time is None else format_time(time) for name, time in times.items()}}


def read_comparisons(clients: KafkaClients, prefix: str, connector: str) -> ConnectorComparisons:
    """Read the history of a connector's comparisons; empty if it was never compared.

    :param prefix: setting `internal_topic_prefix`.
    :raises KafkaUnavailable, AuthenticationFailed, TopicError: Kafka did not answer, or refused.
    """
    history = read_history(clients, prefix, connector)
    return ConnectorComparisons(connector, tuple(history.comparisons.values())[::-1])


def comparisons_of(settings: ConnectorSettings, secrets: Secrets) -> ConnectorComparisons:
    """Read the history of the comparisons of the connector in the settings; errors as :func:`read_comparisons`."""
    clients = kafka_clients(settings, secrets)
    clients.check()
    return read_comparisons(clients, settings.internal_topic_prefix, settings.name)
