"""Helpers of the tests: real processes, a Kafka proxy, oracles that compare topics with caches, fakes, waits."""

# for JVMs that run for seconds: the optimizing compiler costs more than it saves
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
