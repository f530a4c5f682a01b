"""Converter `json` without schemas: JSON texts of Ignite's values, by columns and by rows, and back.

Imports convert.rules, convert.ignite_types and convert.to_kafka; convert.to_ignite and the other JSON formats import
it.
"""
