"""Conversion of Ignite entries to the bytes of Kafka records, with one converter for keys and one for values.

Imports convert.rules, ignite and kafka.records.
"""
