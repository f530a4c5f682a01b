"""A continuous stream: the initial load, then every change that the backlog service captured.

Imports source and runtime.
"""
