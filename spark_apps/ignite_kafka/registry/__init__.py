"""Client of a schema registry with Confluent's API: schemas, schema ids and subjects.

Imports common and settings; convert imports it. Only :mod:`.client` needs the packages of the extra ``registry``, when
a client is made.
"""
