"""Helpers for every folder: retries with a deadline, redaction of secrets, types of numpy arrays.

Imports errors and events only; every folder may import it.
"""
