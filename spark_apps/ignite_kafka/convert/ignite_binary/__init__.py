"""Converter `ignite-binary`: keys and values as Ignite marshalled them, for source and sink.

Imports convert.rules and convert.ignite_types; convert.to_kafka and convert.to_ignite import it.
"""
