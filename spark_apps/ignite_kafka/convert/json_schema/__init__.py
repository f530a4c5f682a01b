"""Converter `json-schema`: JSON documents with the id of a JSON Schema in the registry, as Confluent and Apicurio do.

Imports convert.json, convert.json_with_schemas and registry; convert.connect_converters imports it.
"""
