"""The Spark app: topics of a connector against its caches. Its last lines are the result as JSON; its exit code is 0 if it has one."""

from __future__ import annotations

import sys

from ignite_kafka.verify_app import main

if __name__ == "__main__":
    sys.exit(main())
