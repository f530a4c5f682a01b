"""Avro as Confluent's AvroConverter writes and reads it: schemas by the rules of AvroData, values in columns.

The folder convert imports it.

Source: io.confluent.connect.avro.AvroData, the specification of Avro 1.11.
"""
