"""The Spark app: caches of Ignite to topics of Kafka.

Its exit code is its result (ignite_kafka.errors names the codes).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ignite_kafka import app
from ignite_kafka.run import run_source
from ignite_kafka.settings.source import SourceSettings


def main(argv: Sequence[str] | None = None) -> int:
    """See :func:`ignite_kafka.app.main`."""
    return app.main(argv, SourceSettings, run_source)


if __name__ == "__main__":
    sys.exit(main())
