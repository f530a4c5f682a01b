"""Helpers for every folder: retries, deadlines and timers, redaction of secrets, types of numpy arrays.

Imports errors only; every folder may import it.
"""
