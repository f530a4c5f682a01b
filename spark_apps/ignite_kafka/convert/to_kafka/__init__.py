"""Conversion of Ignite entries to the bytes of Kafka records, side by side.

Imports convert.rules, ignite and kafka.records.
"""
