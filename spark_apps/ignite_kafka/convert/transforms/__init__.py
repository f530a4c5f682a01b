"""Transforms and predicates of Kafka Connect on batches of records (:class:`.batch.ConnectBatch`).

Imports convert.rules and convert.connect; convert.to_kafka and convert.to_ignite import it.
"""
