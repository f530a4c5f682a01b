"""Filters of entries: conditions in Spark SQL, evaluated on Arrow columns, and functions of the user.

Imports ignite, sql and settings; source and sink import it.
"""
