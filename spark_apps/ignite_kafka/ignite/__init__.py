"""Ignite as a thin client sees it.

Connections, the cluster, scans, cache reads and writes, and calls of the backlog service.

Imports settings and common; everything that reads or writes a cache imports it.
"""
