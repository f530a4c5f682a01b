"""The command line: arguments, tables and JSON. All text for a terminal is rendered here. Nothing imports it."""
