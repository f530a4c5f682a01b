"""A snapshot: every entry of the planned caches, exactly once under a snapshot id. Imports source and runtime."""
