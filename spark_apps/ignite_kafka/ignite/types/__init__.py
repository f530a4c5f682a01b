"""Types of Ignite and of Arrow, and the mapping between them.

Imports errors only; the codec and the converters import it.
"""
