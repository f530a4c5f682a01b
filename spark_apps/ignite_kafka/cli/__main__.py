"""``python -m ignite_kafka.cli``: the command ignite-kafka."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
