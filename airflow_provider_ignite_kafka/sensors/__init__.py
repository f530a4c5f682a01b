"""Sensors that wait for changes of a cluster's caches, or for connectors. Only Dags import this package."""
