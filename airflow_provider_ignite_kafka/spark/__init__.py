"""Submission of a Spark application, its watchdog process and its result. Operators and hooks import this package."""
