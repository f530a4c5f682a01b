"""The page Connectors of Airflow's web UI.

Only Airflow's API server uses the page; only Airflow imports the plugin.
"""
