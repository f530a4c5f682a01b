"""Spark data sources in Python: ignite, kafka-tx and ignite-backlog. Imports source, sink and runtime."""
