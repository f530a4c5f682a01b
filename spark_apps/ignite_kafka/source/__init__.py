"""Ignite to Kafka: planning that snapshot and stream share. Imports runtime and convert.to_kafka."""
