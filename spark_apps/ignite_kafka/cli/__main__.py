"""``python -m ignite_kafka.cli``: the command ignite-kafka."""

import sys

from .main import main

sys.exit(main())
