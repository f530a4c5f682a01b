"""Converter `json` with schemas.

Envelopes of schema and payload, as Kafka Connect's JsonConverter writes and reads them.

Imports convert.connect and convert.json; convert.json_schema and convert.connect_converters import it.
"""
