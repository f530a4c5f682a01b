"""Kafka to Ignite: stores topics in caches without loss, and in order for each key.

Imports runtime and convert.to_ignite.
"""
