"""Converters of scalars: texts, bytes, numbers, and header values as Kafka Connect's SimpleHeaderConverter has them.

Imports convert.connect; convert.transforms, convert.to_ignite and convert.connect_converters import it.
"""
