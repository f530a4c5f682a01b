"""Plans of runs as pure data: which cache goes to which topic, which slot reads which cache partition, and where a run continues.

Standard library only; plans travel as JSON. Imports settings; the folders that run plans import it."""
