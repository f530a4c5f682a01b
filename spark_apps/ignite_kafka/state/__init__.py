"""State of a connector in Kafka: configuration, target state, status, learned types, offsets, and the transactions of its slots.

Imports kafka and plan; source, sink and admin import it.
"""
