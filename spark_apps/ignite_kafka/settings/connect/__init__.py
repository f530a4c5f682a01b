"""Settings in Kafka Connect's forms: properties, config providers, workers, Strimzi's resources, REST bodies.

Standard library only. Imports settings; settings.files, migration and the command line import it.
"""
