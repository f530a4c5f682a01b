"""Settings as Kafka Connect has them: property names, config providers, workers, Strimzi's resources, bodies of its REST interface.

Standard library only. Imports settings; settings.files, migration and the command line import it.
"""
