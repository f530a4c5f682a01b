"""Runs of connectors: their names and request, how a task or a trigger follows, reports and judges them.

Operators, sensors, triggers and ``spark/`` import it; it submits nothing.
"""
