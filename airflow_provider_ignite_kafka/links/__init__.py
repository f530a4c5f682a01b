"""Extra links of the operators, which import them; Airflow's web UI shows them as buttons of a task instance."""
