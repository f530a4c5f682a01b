"""Lineage of the operators that copy.

OpenLineage is optional: its modules are imported only while its listener calls.
"""
