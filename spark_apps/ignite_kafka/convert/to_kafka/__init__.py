"""Ignite entries to the bytes of Kafka records, one converter a module.

Imports convert.rules, ignite and kafka.records.
"""
