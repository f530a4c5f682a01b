"""Tools of the tests that start real processes: a Kafka proxy, an oracle of topics, processes that can be killed."""
