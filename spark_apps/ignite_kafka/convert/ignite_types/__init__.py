"""Types of the entries of a cache: declared, held by the cluster, used by the source, or learned from records.

Imports convert.rules; the formats that read records, and convert.to_ignite, import it.
"""
