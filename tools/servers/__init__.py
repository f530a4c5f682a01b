"""Real Ignite nodes, Kafka brokers and schema registries on loopback, as context managers that end all they started.

with IgniteCluster(Path("work"), jars=Jars.of_checkout()) as ignite, KafkaBroker(Path("work"), jars=Jars.of_checkout())
as kafka:
    ignite.addresses, kafka.bootstrap
"""

from .certificates import Certificates
from .ignite import IgniteCluster
from .ignite_config import IgniteOptions
from .jars import Jars, MissingJars
from .kafka import KafkaBroker, KafkaOptions
from .kafka_cluster import KafkaCluster
from .process import ServerFailed, ServerProcess, await_condition, free_ports
from .registry import SchemaRegistry

__all__ = [
    "Certificates",
    "IgniteCluster",
    "IgniteOptions",
    "Jars",
    "KafkaBroker",
    "KafkaCluster",
    "KafkaOptions",
    "MissingJars",
    "SchemaRegistry",
    "ServerFailed",
    "ServerProcess",
    "await_condition",
    "free_ports",
]
