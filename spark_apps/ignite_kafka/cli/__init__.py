"""The command line: arguments, tables and JSON. All text for a terminal is made here, and nothing imports cli."""
