"""Converter `ignite-binary`: keys and values as Ignite marshalled them, both ways.

Imports convert.rules and convert.ignite_types; convert.to_kafka and convert.to_ignite import it.
"""
