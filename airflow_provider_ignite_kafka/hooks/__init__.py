"""Airflow connections, turned into clients of Ignite and Kafka and into settings, and spark-submit as a hook.

Operators, sensors and triggers import this package.
"""
