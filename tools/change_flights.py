"""Change the flights of a cluster until SIGTERM and print the number of changes: `python -m tools.change_flights 127.0.0.1:10800`."""

from __future__ import annotations

import random
import signal
import sys
import threading

import pyignite
from pyignite.cache import Cache

CACHE = "flights"
_NEW = 1_000_000  # first key of new flights, above the keys of the table
_ROWS = 300_000
_BATCH = 50
_PAUSE_S = 0.1


def main(address: str) -> int:
    """Delay, remove and add flights until SIGTERM; return the exit code."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    host, port = address.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        flights, choice, changes = client.get_cache(CACHE), random.Random(1), 0
        while not stop.wait(_PAUSE_S):
            changes += _change(flights, choice)
    print(f"{changes} changes")
    return 0


def _change(flights: Cache, choice: random.Random) -> int:
    found = flights.get_all([choice.randrange(_ROWS) for _ in range(_BATCH)])
    for flight in found.values():
        flight.dep_delay = (flight.dep_delay or 0) + 1
    entering = {_NEW + choice.randrange(_ROWS): flight for flight in list(found.values())[:5]}
    leaving = list(found)[:5]
    flights.put_all({**found, **entering})
    flights.remove_keys(leaving)
    return len(found) + len(entering) + len(leaving)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
