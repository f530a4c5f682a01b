"""Administration of a connector outside its runs: target state, offsets, backlog, lag. Results are data, not text.

Imports state, source and sink; the command line and Airflow import it.
"""
