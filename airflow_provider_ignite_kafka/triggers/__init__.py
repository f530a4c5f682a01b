"""Triggers: the deferred part of sensors and operators."""
