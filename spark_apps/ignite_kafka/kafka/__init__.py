"""Kafka as a transport: clients, topics, batches of records produced and consumed; nothing about connectors.

Imports settings and common; state, source and sink import it.
"""
