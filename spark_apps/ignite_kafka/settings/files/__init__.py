"""Files of settings in JSON, `.properties` and YAML, for one or several connectors, and their JSON Schema.

Standard library only, but for YAML. Imports settings and settings.connect; migration, admin and the command line import
it.
"""
