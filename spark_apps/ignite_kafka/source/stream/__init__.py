"""A continuous stream: the initial load, then every captured change.

Imports source and runtime.
"""
