"""Triggers: the deferred part of sensors and operators, and asset watchers. Sensors and Dags import this package."""
