"""Polling of an Ignite cluster for caches that appear, change or vanish. Sensors and triggers import this package."""
