"""The protocol of a contender: a JSON request a line on stdin, a line `@` + JSON with at least ``entries`` and ``seconds`` on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Round = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def serve(rounds: Mapping[str, Round]) -> None:
    """Do rounds until stdin ends; ``what`` of a request names the round. What a round returns is added to the answer."""
    print('@{"ready":true}', flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        started = time.monotonic()
        answer = rounds[request["what"]](request)
        print("@" + json.dumps({"seconds": time.monotonic() - started, **answer}), flush=True)
