"""Lineage of the copying operators.

OpenLineage is optional: its modules are imported only during calls of its listener.
"""
