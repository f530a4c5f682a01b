"""Comparison of topics with caches as a Spark job, for both directions, and the repair of what differs.

Imports convert, source.planning, sink, runtime and admin; cli imports it.
"""
