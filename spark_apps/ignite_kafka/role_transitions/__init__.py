"""Role transitions of a replicating pair: switchover, failover and failback, step by step and resumable.

Imports admin and verification; the command line imports it. Spark is used through functions that the caller passes.
"""
