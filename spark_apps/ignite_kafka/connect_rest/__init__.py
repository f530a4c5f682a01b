"""Kafka Connect's REST interface for connectors of this package, and the server that runs declared connectors.

The command `serve` and Airflow's plugin import it; the requests are answered without a web framework.
"""
