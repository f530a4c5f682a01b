"""Migration from Kafka Connect: a worker's file and connectors' files become settings and secrets of this package.

:mod:`.migrate` has the steps. Imports settings; the command line imports it.
"""
