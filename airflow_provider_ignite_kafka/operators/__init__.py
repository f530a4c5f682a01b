"""Operators: they submit Spark applications and change connectors."""
