"""Connections of Airflow as clients of Ignite and Kafka and as settings, and spark-submit as a hook.

Operators, sensors and triggers import it.
"""
