"""The parts of a run that both directions share: clients, the Spark job, progress, parallelism, memory and logs.

Imports state, plan and settings; source and sink import it.
"""
