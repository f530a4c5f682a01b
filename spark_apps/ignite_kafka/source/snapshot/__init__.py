"""A snapshot: every entry of the planned caches once, exactly once under a snapshot id. Imports source and runtime."""
