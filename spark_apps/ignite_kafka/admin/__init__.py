"""Changes and views of a connector from outside a run: target state, offsets, backlog, verification. It returns data, never text.

Imports state, source and sink; the command line and Airflow import it."""
