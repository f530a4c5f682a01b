"""Settings of a connector: typed fields, validation, files, secrets and Kafka client properties.

Standard library only, because Airflow imports it while it parses Dags. Imports errors, events and common;
every folder but these may import it.
"""
