"""Helpers for every folder: retries with a deadline, and redaction of secrets.

Imports errors and events only; every folder may import it.
"""
