"""Tools of the tests that start real processes: a Kafka proxy, an oracle of topics, processes that can be killed."""

# JVMs that run for seconds or serve a few records: compiling well costs more than it gives
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
