"""Kafka as a transport: clients, topics, batches of records produced and consumed. It knows no connector.

Imports settings and common; state, source and sink import it."""
