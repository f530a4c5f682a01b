"""TaskFlow decorators ``@task.ignite_to_kafka`` and ``@task.kafka_to_ignite``.

Airflow finds the decorators in the provider info.
"""
