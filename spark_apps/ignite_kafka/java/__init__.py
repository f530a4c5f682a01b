"""Texts, numbers, dates and regular expressions as in Java and its libraries, with equal results.

Imports common only; every folder but common may import it.
"""
