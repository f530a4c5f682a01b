"""Submission of a Spark application and the result it leaves. Operators and triggers import it."""
