"""Converter `json-schema`: JSON documents with the id of their JSON Schema, as Confluent and Apicurio have them.

Imports convert.json, convert.json_with_schemas and registry; convert.connect_converters imports it.
"""
