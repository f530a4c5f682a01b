"""`make bench`: this project and its peers in turn, on the same servers and data. `python -m benchmarks --help` lists the options."""
