"""What Java and its libraries do with texts, numbers, dates and expressions, so that results are equal to theirs.

Imports common only; every folder but common may import it.
"""
