"""Finds the packages in their folders; everything else stands in setup.cfg, which can name only one."""

from setuptools import find_packages, setup

PROVIDER = "airflow_provider_ignite_kafka"

# Airflow looks for a provider's examples in example_dags
setup(packages=[*find_packages(include=[f"{PROVIDER}*"]), f"{PROVIDER}.example_dags", *find_packages("spark_apps")])
