"""Files of settings: JSON, `.properties` and YAML, of one connector or of several, and their schema.

Standard library only, but for YAML. Imports settings and settings.connect; migration, admin and the command line import
it.
"""
