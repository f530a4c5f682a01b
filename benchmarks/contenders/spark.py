"""All rounds that need a Spark session, in one process."""

from . import changes, latency, planning, session
from .serve import serve

if __name__ == "__main__":
    serve(
        {
            "changes": changes.run,
            "copy": session.copy,
            "latency": latency.run,
            "read_ignite": session.read_ignite,
            "read_jdbc": session.read_jdbc,
            "sink": session.sink,
            "two_sources": session.two_sources,
            "units": planning.run,
            "verify": session.verify,
        }
    )
