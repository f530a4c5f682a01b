"""Comparison of topics with caches as a Spark job, for both directions, and repair of the differences.

Imports convert, source, sink, runtime and admin; cli imports it.
"""
