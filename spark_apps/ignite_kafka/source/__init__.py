"""Ignite to Kafka: planning and sending, shared by snapshots and streams. Imports runtime and convert.to_kafka."""
