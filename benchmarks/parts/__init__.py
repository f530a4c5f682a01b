"""The parts of the benchmark; each measures one thing on a running stack and gives a section of the report."""
