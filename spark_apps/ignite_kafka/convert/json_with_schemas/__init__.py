"""Converter `json` with schemas: envelopes of schema and payload, as Kafka Connect's JsonConverter has them.

Imports convert.connect and convert.json; convert.json_schema and convert.connect_converters import it.
"""
