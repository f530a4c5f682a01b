"""Converter `json` without schemas: Ignite's values as JSON texts and back, by columns and by rows.

Imports convert.rules, convert.ignite_types and convert.to_kafka; convert.to_ignite and the
other JSON formats import it.
"""
