"""Plans of runs as pure data: topics of caches, cache partitions of slots, and start offsets.

Standard library only; plans travel as JSON. Imports settings; the folders that run plans import it.
"""
