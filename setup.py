"""Finds the packages in their two folders; everything else stands in setup.cfg, which can name only one."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["airflow_provider_ignite_kafka*"]), *find_packages("spark_apps")])
