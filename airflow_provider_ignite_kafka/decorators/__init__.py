"""TaskFlow decorators ``@task.ignite_to_kafka`` and ``@task.kafka_to_ignite``.

Airflow imports the decorators that the provider info names.
"""
