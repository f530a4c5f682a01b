"""Extra links of the operators, shown as buttons of a task instance in Airflow's web UI. Operators import them."""
