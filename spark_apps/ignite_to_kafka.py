"""The Spark app: caches of Ignite to topics of Kafka. Its exit code is its result (ignite_kafka.errors names the codes)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.app import AppRequest, Arguments, ship_secrets, show_progress, stop_on_sigterm
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.pipelines.run import SnapshotRequest, run_source


def main(argv: Sequence[str] | None = None) -> int:
    """Read the request, run it. 0: done; any other code: the last line on stderr says what failed, where, why and what to do."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        arguments = Arguments.parse(argv)
        request = AppRequest.load(arguments.request)
        stop = stop_on_sigterm(request.settings)
        spark = SparkSession.builder.appName(f"ignite-kafka {request.settings.name}").getOrCreate()
        try:
            with ship_secrets(spark, arguments) as secrets_file:
                wanted = SnapshotRequest(request.settings, request.run_id, request.snapshot_id, secrets_file, show_progress, stop)
                run_source(spark, wanted)
        finally:
            spark.stop()
    except IgniteKafkaError as error:
        if error.exit_code == 2:
            events.emit(events.MISCONFIGURED, reason=str(error))
        print(f"ignite-kafka: {type(error).__name__} {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
