"""What tests of the stream share, for those that take minutes."""

from tests.stream.conftest import mortal_broker, mortal_pair, pair, spark_cluster, stream, traffic

__all__ = ["mortal_broker", "mortal_pair", "pair", "spark_cluster", "stream", "traffic"]
