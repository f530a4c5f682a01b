"""The Spark app: topics of Kafka to caches of Ignite.

Its exit code is its result (ignite_kafka.errors names the codes).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ignite_kafka import app
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.run import run_sink


def main(argv: Sequence[str] | None = None) -> int:
    """See :func:`ignite_kafka.app.main`."""
    return app.main(argv, SinkSettings, run_sink)


if __name__ == "__main__":
    sys.exit(main())
