"""Avro as Confluent's converter writes and reads it: schemas by AvroData's rules, values in columns.

Convert imports it.

Source: io.confluent.connect.avro.AvroData, the specification of Avro 1.11.
"""
