"""A replicating pair of connectors, with clients of both, and the functions with Spark that its caller passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from ..admin.target_state import NewestRun, newest_run
from ..errors import RoleTransitionRefused
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..state.configs import Retirement, read_connector
from ..state.role_transitions import write_retirement
from ..state.target_state import RUNNING, STOPPED, write_target
from ..verification.result import VerifyResult
from .reverse_pair import reverse_pair

S = TypeVar("S", bound=ConnectorSettings, covariant=True)


@dataclass(frozen=True)
class Member(Generic[S]):
    """A connector of a pair.

    :param secrets_file: path of the file with the secrets, for Spark's executors; None: there are none.
    """

    settings: S
    secrets: Secrets
    secrets_file: str | None = None

    @cached_property
    def clients(self) -> KafkaClients:
        """Kafka clients with the connector's settings."""
        return kafka_clients(self.settings, self.secrets)

    @cached_property
    def topics(self) -> Topics:
        """Topics of the connector's brokers."""
        return Topics(self.clients)

    @property
    def prefix(self) -> str:
        """Prefix of the connector's internal topics."""
        return self.settings.internal_topic_prefix

    @property
    def name(self) -> str:
        """Name of the connector."""
        return self.settings.name

    def connect(self) -> Cluster:
        """Connect to the connector's Ignite cluster, for the duration of a context."""
        return ignite_cluster(self.settings, self.secrets)

    def newest_run(self) -> NewestRun:
        """Read the newest run."""
        return newest_run(self.clients, self.topics, self.prefix, self.name)

    def retirement(self) -> Retirement | None:
        """Read the mark that no run may begin; None without one."""
        return read_connector(self.clients, self.topics, self.prefix, self.name).retirement

    def retire(self, retirement: Retirement) -> None:
        """Let no further run begin, and request the end of the present one. Repeatable."""
        self.mark(retirement)
        write_target(self.clients, self.topics, self.prefix, self.name, STOPPED)

    def mark(self, retirement: Retirement) -> None:
        """Let no further run begin. Repeatable."""
        write_retirement(self.clients, self.topics, self.prefix, self.name, retirement)

    def admit(self) -> None:
        """Let runs begin again. Repeatable."""
        write_retirement(self.clients, self.topics, self.prefix, self.name, None)
        write_target(self.clients, self.topics, self.prefix, self.name, RUNNING)

    def require_started(self) -> NewestRun:
        """Return the newest run.

        :raises RoleTransitionRefused: the connector never ran.
        """
        newest = self.newest_run()
        if newest.connector is None:
            raise RoleTransitionRefused(
                "the connector never ran, so there is nothing to turn round",
                "Check its name and internal_topic_prefix; ignite-kafka replicate starts the pair.",
                connector=self.name,
                internal_topic_prefix=self.prefix,
            )
        return newest


@dataclass(frozen=True)
class Pair:
    """A source on cluster A and a sink on cluster B."""

    source: Member[SourceSettings]
    sink: Member[SinkSettings]

    @cached_property
    def reverse(self) -> Pair:
        """The pair that copies from B to A.

        :raises SettingsError: it cannot be derived.
        """
        source, sink = reverse_pair(self.source.settings, self.sink.settings)
        return Pair(
            Member(source, self.sink.secrets, self.sink.secrets_file),
            Member(sink, self.source.secrets, self.source.secrets_file),
        )


Verify = Callable[[Member[ConnectorSettings], bool], VerifyResult]
"""Function that compares a connector's topics with its caches, and repairs the differences if the flag is True."""
Store = Callable[[Member[SinkSettings], str], None]
"""Function that runs a sink up to the ends of its topics, although the role transition of this id has retired it."""
