"""Sensors that wait for changes of the caches of a cluster. Dags import it; nothing else does."""
