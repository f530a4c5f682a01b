"""Assets of caches and topics, and events of what a run has copied.

Airflow imports the modules that the provider info names.
"""
