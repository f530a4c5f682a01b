"""A real Kafka broker on loopback: one KRaft node, both broker and controller; before Kafka 3.3, a broker with its ZooKeeper."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from .archives import archive_options
from .certificates import Certificates
from .jars import Jars, java_command
from .process import ServerFailed, ServerProcess, free_ports
from .zookeeper import ZooKeeper

KRAFT_SINCE = (3, 3)  # the first version whose brokers are meant to run without ZooKeeper
_CLUSTER_ID = "bG9vcGJhY2stY2x1c3Rlcg"


@dataclass(frozen=True)
class KafkaOptions:
    """Options of a broker.

    :param users: user to password; clients must log in by SASL/PLAIN, or by SCRAM-SHA-512 over TLS. The first user is a
        super user.
    :param certificates: of the listener, which has TLS and SCRAM then; there must be users.
    :param oauth: clients must log in by SASL/OAUTHBEARER with an unsecured token (RFC 7515, algorithm none) of any
        user.
    :param settings: additional broker settings, which override the defaults here.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    certificates: Certificates | None = None
    oauth: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    heap_mib: int = 512
    java_options: tuple[str, ...] = ()


class KafkaBroker:
    """One broker; it keeps its port and its data across :meth:`kill`, :meth:`stop` and :meth:`start`.

    :param directory: of configuration, data and log.
    :param port: of the client listener; None: a free one.
    :param zookeeper: of the cluster that the broker belongs to, before Kafka 3.3; None: one of its own.
    """

    def __init__(
        self,
        directory: Path,
        *,
        jars: Jars,
        options: KafkaOptions | None = None,
        port: int | None = None,
        outlives_parent: bool = False,
        zookeeper: ZooKeeper | None = None,
        **named: Any,
    ) -> None:
        self.directory = directory
        self.options = replace(options or KafkaOptions(), **named)
        self._jars = jars
        needed = zookeeper is None and jars.kafka_version < KRAFT_SINCE
        self._own_zookeeper = ZooKeeper(directory / "zookeeper", jars=jars) if needed else None
        self._zookeeper = zookeeper or self._own_zookeeper
        self._outlives_parent = outlives_parent
        free = free_ports(2)
        self.port = port or free[0]
        self._controller_port = free[1]
        self._process: ServerProcess | None = None

    @property
    def bootstrap(self) -> str:
        """Address of the client listener."""
        return f"127.0.0.1:{self.port}"

    @property
    def client_config(self) -> dict[str, str]:
        """Client settings for librdkafka, as the first user if the broker requires a login."""
        config = {"bootstrap.servers": self.bootstrap}
        if self.options.oauth:
            token = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=admin"}
            config |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **token}
        for user, password in list(self.options.users.items())[:1]:
            config |= {"security.protocol": self._listener, "sasl.mechanism": self._mechanism}
            config |= {"sasl.username": user, "sasl.password": password}
        if self.options.certificates is not None:
            config |= _tls_config(self.options.certificates)
        return config

    @property
    def log(self) -> Path:
        """Log of the broker."""
        return self.directory / "broker.log"

    @property
    def process(self) -> ServerProcess:
        """Process of the broker.

        :raises ServerFailed: it has not been started.
        """
        if self._process is None:
            raise ServerFailed("the broker has not been started")
        return self._process

    def start(self) -> KafkaBroker:
        """Start the broker on its data and wait until it answers.

        :raises ServerFailed: it ended or did not answer in time.
        """
        self.launch()
        self.await_ready()
        return self

    def launch(self) -> None:
        """Start without waiting: a node of a cluster answers only after the other nodes have started."""
        file = self.directory / "server.properties"
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = self._settings()
        first = not (self.directory / "data" / "meta.properties").exists()
        if self._zookeeper is not None:
            settings = zookeeper_settings(settings, self._zookeeper.address)
            self._zookeeper.start()
            self._zookeeper.await_end_of(settings["broker.id"])
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        if first:
            self._add_users() if self._zookeeper is not None else self._format(file)
        # without a -Dlog4j2 configuration only errors are printed
        options = [
            "-Xms128m",
            f"-Xmx{self.options.heap_mib}m",
            *archive_options("kafka", self._jars.kafka),
            *self.options.java_options,
        ]
        command = java_command("kafka.Kafka", [file], [self._jars.kafka], options)
        self._process = ServerProcess("Kafka broker", command, self.log, outlives_parent=self._outlives_parent)

    def await_ready(self) -> None:
        """Wait until the broker answers; kill it if it does not.

        :raises ServerFailed: it ended or did not answer in time.
        """
        try:
            self.process.await_ready(self._answers)
        except BaseException:
            self.process.kill()
            raise

    def kill(self) -> None:
        """Kill the broker (SIGKILL)."""
        self.process.kill()

    def stop(self) -> None:
        """Shut the broker down in order."""
        if self._process is not None:
            self._process.stop()
        if self._own_zookeeper is not None:
            self._own_zookeeper.stop()

    @property
    def _listener(self) -> str:
        """Security protocol of the client listener, which is also its name."""
        if self.options.certificates is not None:
            return "SASL_SSL"
        return "SASL_PLAINTEXT" if self.options.users or self.options.oauth else "PLAINTEXT"

    @property
    def _mechanism(self) -> str:
        return "PLAIN" if self.options.certificates is None else "SCRAM-SHA-512"

    def _format(self, file: Path) -> None:
        arguments: list[str | Path] = ["format", "-t", _CLUSTER_ID, "-c", file]
        if self.options.certificates is not None:
            # a broker that logs in at itself needs the users before its first start
            for user, password in self.options.users.items():
                arguments += ["--add-scram", f'{self._mechanism}=[name="{user}",password="{password}"]']
        self._run_tool("kafka.tools.StorageTool", arguments)

    def _add_users(self) -> None:
        """Add the users of SCRAM to ZooKeeper before the first start: a broker that logs in at itself needs them."""
        if self.options.certificates is None or self._zookeeper is None:
            return
        for user, password in self.options.users.items():
            arguments = [
                "--zookeeper",
                self._zookeeper.address,
                "--alter",
                "--entity-type",
                "users",
                "--entity-name",
                user,
            ]
            self._run_tool(
                "kafka.admin.ConfigCommand", [*arguments, "--add-config", f"{self._mechanism}=[password={password}]"]
            )

    def _run_tool(self, main: str, arguments: Sequence[str | Path]) -> None:
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", *archive_options("kafka", self._jars.kafka)]
        done = subprocess.run(
            java_command(main, arguments, [self._jars.kafka], options), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ServerFailed(f"{main} for {self.directory} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")

    def _settings(self) -> dict[str, Any]:
        controller = f"127.0.0.1:{self._controller_port}"
        listener = self._listener
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listener}://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"{listener}://{self.bootstrap}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": listener,
            "log.dirs": self.directory / "data",
            "num.partitions": 4,
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            "log.retention.ms": -1,  # the default deletes records with timestamps of more than 7 days ago
            "log.cleaner.dedupe.buffer.size": 16 << 20,
            **self._sasl_settings(),
            **self.options.settings,
        }

    def _sasl_settings(self) -> dict[str, Any]:
        if self.options.oauth:
            module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
            return {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
                "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f'{module} required unsecuredLoginStringClaim_sub="broker";',
            }
        if not self.options.users:
            return {}
        first, password = next(iter(self.options.users.items()))
        if self.options.certificates is not None:
            return _scram_settings(self.options.certificates, first, password)
        users = " ".join(f'user_{user}="{secret}"' for user, secret in self.options.users.items())
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{first}" password="{password}" {users};'
        return {
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
            "super.users": f"User:{first};User:ANONYMOUS",
        }

    def _answers(self) -> bool:
        try:
            return bool(
                AdminClient({**self.client_config, "log_level": 0, "log.connection.close": False})
                .list_topics(timeout=2)
                .brokers
            )
        except KafkaException:
            return False

    def __enter__(self) -> KafkaBroker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def zookeeper_settings(settings: Mapping[str, Any], zookeeper: str) -> dict[str, Any]:
    """Turn settings of a KRaft node into those of a broker with ZooKeeper, which has no controller of its own."""
    changed = {
        name: value
        for name, value in settings.items()
        if not name.startswith(("process.roles", "controller.", "node.id"))
    }
    changed |= {"broker.id": settings["node.id"], "zookeeper.connect": zookeeper}
    changed["listeners"] = ",".join(
        one for one in settings["listeners"].split(",") if not one.startswith("CONTROLLER:")
    )
    # a broker that is killed is gone when its session has ended
    changed["zookeeper.session.timeout.ms"] = changed.pop("broker.session.timeout.ms", 6_000)
    if settings.get("authorizer.class.name", "").endswith(".StandardAuthorizer"):
        changed["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
    return changed


def _tls_config(certificates: Certificates) -> dict[str, str]:
    """Client settings for librdkafka; the client's certificate is for a listener with ``ssl.client.auth``."""
    password = certificates.client_key_password
    return {
        "ssl.ca.location": str(certificates.ca),
        "ssl.certificate.location": str(certificates.client_certificate),
        "ssl.key.location": str(certificates.client_key),
        **({} if password is None else {"ssl.key.password": password}),
    }


def _scram_settings(certificates: Certificates, user: str, password: str) -> dict[str, Any]:
    """Settings of a listener with TLS and SCRAM-SHA-512, at which the broker itself logs in as the user."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        "super.users": f"User:{user};User:ANONYMOUS",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": certificates.server_store,
        "ssl.keystore.password": certificates.password,
        "ssl.key.password": certificates.password,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": certificates.trust_store,
        "ssl.truststore.password": certificates.password,
    }
