"""Hooks: connections of Airflow as clients of Ignite and Kafka, and as settings of a run."""
