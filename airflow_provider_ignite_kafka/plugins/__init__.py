"""The page Connectors of Airflow's web UI.

Only Airflow's API server uses it; Airflow imports the plugin, nothing else does.
"""
