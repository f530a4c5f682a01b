"""Assets of caches and topics, and asset events about the data copied by a run.

Airflow imports the modules named in the provider info.
"""
