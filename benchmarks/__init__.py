"""`make bench`: ours and the peers in turn, on the same servers and data. `python -m benchmarks --help` says what can be chosen."""
