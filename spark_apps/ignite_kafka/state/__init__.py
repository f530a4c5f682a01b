"""What Kafka keeps for a connector: its configuration, target state, status, learned types and offsets, and the transactions of its slots.

Imports kafka and plan; source, sink and admin import it."""
