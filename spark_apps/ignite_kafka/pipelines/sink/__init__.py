"""Kafka to Ignite: topics into caches, in order for each key, and nothing thrown away."""
