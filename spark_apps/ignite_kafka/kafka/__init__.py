"""Kafka as a transport, independent of connectors: clients, topics, and batches of produced and consumed records.

Imports settings and common; state, source and sink import it.
"""
