"""TaskFlow decorators ``@task.ignite_to_kafka`` and ``@task.kafka_to_ignite``.

Airflow imports them by the provider info.
"""
