"""Sensors: they wait for changes of a cluster or for a run's progress."""
