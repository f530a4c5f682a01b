"""Real Ignite nodes and Kafka brokers on loopback, as context managers that end all they started.

with IgniteCluster(Path("work"), jars=Jars.of_checkout()) as ignite, KafkaBroker(Path("work"), jars=Jars.of_checkout()) as kafka:
    ignite.addresses, kafka.bootstrap
"""

from .certificates import Certificates
from .ignite import IgniteCluster
from .ignite_config import IgniteOptions
from .jars import Jars, MissingJars
from .kafka import KafkaBroker, KafkaOptions
from .kafka_cluster import KafkaCluster
from .process import ServerFailed, ServerProcess, await_condition, free_ports

__all__ = [
    "Certificates",
    "IgniteCluster",
    "IgniteOptions",
    "Jars",
    "KafkaBroker",
    "KafkaCluster",
    "KafkaOptions",
    "MissingJars",
    "ServerFailed",
    "ServerProcess",
    "await_condition",
    "free_ports",
]
