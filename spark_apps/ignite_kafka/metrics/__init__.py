"""Metrics of a run: the table of all metrics, their values from the run's status, and the Prometheus endpoint.

Imports common, settings and state; runtime and the Airflow provider import it.
"""
