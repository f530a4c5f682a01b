"""Helpers of the tests: real processes, a Kafka proxy, oracles that compare topics with caches, fakes, waits."""

import tempfile

# for JVMs that run for seconds: the optimizing compiler costs more than it saves; temporary files where Python's are, not always in /tmp
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={tempfile.gettempdir()}")

# of each cache of the shared node: Ignite's default of 1,024 costs every run on it ten times the time
PARTITIONS = 64
