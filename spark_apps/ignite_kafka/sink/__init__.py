"""Kafka to Ignite: topics into caches, in order for each key, and nothing is lost.

Imports runtime and convert.to_ignite.
"""
