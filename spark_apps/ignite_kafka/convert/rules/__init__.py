"""Rules of types for source and sink: bytes, decimals and times in JSON, declared scales. Imports common and ignite."""
