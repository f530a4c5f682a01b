"""Operators that submit Spark applications and change connectors. Dags import it; nothing else does."""
