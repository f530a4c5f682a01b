"""Conditions in Spark SQL: the part of its grammar whose results equal Spark's, read into syntax trees.

Imports errors alone; settings import it to check conditions, and convert.filter to evaluate them.
"""

from .parser import parse_columns, parse_condition
from .syntax import Column, Condition, SelectedField

__all__ = ["Column", "Condition", "SelectedField", "parse_columns", "parse_condition"]
