"""Operators that submit Spark applications and change connectors. Only Dags import this package."""
