"""Runs of connectors: their names and request, and how a task or trigger follows, reports and judges runs.

Operators, sensors, triggers and ``spark/`` import this package; it submits nothing.
"""
