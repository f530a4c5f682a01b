"""Notifiers for callbacks of tasks and Dags. Dag files import this package."""
