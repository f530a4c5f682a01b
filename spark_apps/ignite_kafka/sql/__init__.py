"""Parser of conditions in Spark SQL to syntax trees, for the part of the grammar with results equal to Spark's.

Imports errors alone; settings import it to check conditions, and convert.filter to evaluate them.
"""

from .parser import parse_columns, parse_condition
from .syntax import Column, Condition, SelectedField

__all__ = ["Column", "Condition", "SelectedField", "parse_columns", "parse_condition"]
