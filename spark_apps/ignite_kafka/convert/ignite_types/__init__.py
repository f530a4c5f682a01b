"""Types of a cache's entries: declared, held by the cluster, seen by the source, or learned from records.

Imports convert.rules; convert.to_ignite and the formats that read records import it.
"""
