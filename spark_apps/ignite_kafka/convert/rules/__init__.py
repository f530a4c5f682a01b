"""Rules of types for both directions: bytes, decimals and times in JSON, declared scales. Imports common and ignite."""
