"""State of a connector in Kafka.

Configuration, target state, status, learned types, offsets, and the transactions of its slots.

Imports kafka and plan; source, sink and admin import it.
"""
