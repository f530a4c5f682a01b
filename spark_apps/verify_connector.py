"""The Spark app that compares a connector's topics with its caches.

The result is a line of JSON; exit code 0 means that there is one.
"""

from __future__ import annotations

import sys

from ignite_kafka.verify_app import main

if __name__ == "__main__":
    sys.exit(main())
