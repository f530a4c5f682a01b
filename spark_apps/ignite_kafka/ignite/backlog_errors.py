"""Translation of a node's error reply to a backlog service call into an error with a remedy."""

from __future__ import annotations

from ..errors import BacklogMissing, BacklogRefused, BacklogUnavailable, IgniteKafkaError
from . import protocol
from .protocol import ThinError

OLDER_JAR = "OLDER_JAR"
"""Code of the refusal of a call that is newer than the node's jar."""

FORBIDDEN = "FORBIDDEN"
"""Code of the refusal of a call by a user without the right to it."""

UNKNOWN_CONNECTOR = "UNKNOWN_CONNECTOR"
"""Code of the refusal of a call for a connector without a capture."""

_PREFIX = "BACKLOG/"
_OTHER_CONTRACT = "Could not find proxy method"  # no method of that name takes so many arguments

IGNITE_RANGE = "2.9 to 2.17"
"""Versions of Ignite on which the jar captures (`IgniteVersions` in backlog-service/)."""

REMEDIES = {  # by code of a refusal
    "BEYOND_LIMIT": (
        "Choose a value within the limit, or let the administrator of the Ignite nodes set the option in brackets on "
        "all of them (docs/deploy.md) and restart them"
    ),
    "FOREIGN_CACHE": (
        "Set backlog_cache_name so that no cache has that name and the connector's after it; the other cache is not "
        "touched. What version 0.1.0 left of an ended capture may be destroyed by hand"
    ),
    "FOREIGN_SERVICE": (
        "Set backlog_service_name so that no service has that name and the connector's after it; the other service is "
        "not touched"
    ),
    FORBIDDEN: (
        "The secret of a connector's capture is in the topic <internal_topic_prefix>-configs of its Kafka cluster, "
        "that of a data source in its secrets file; where it is lost, an administrator ends the capture by "
        "`ignite-kafka backlog cleanup --force`. A capture that runs without a secret gets none: end it by "
        "`ignite-kafka backlog cleanup`, then start the connector. A user of Ignite needs SERVICE_INVOKE, CACHE_READ "
        "of the captured caches, and to begin a capture CACHE_CREATE of its backlog cache and SERVICE_DEPLOY of its "
        "service"
    ),
    OLDER_JAR: "Put the jar of this version on the class path of every server node, then start connectors of this "
    "version",
    "UNSUPPORTED_VERSION": (
        f"Use nodes of Ignite {IGNITE_RANGE}, or a release of this project whose jar runs on theirs. Continuous "
        "queries need no jar: take it from the nodes and set failover_policy FULL_SNAPSHOT or NONE (docs/queries.md)"
    ),
    "OTHER_SETTINGS": (
        "Set them as they were. Or end the capture by `ignite-kafka backlog cleanup` once the connector is stopped: "
        "its next start captures with the new ones, and sends again what the caches hold"
    ),
    "OTHER_OWNER": (
        "Give one of the two connectors another name. If the other is no more, end its capture by `ignite-kafka "
        "backlog cleanup --force`"
    ),
}


def to_error(error: ThinError, address: str) -> IgniteKafkaError:
    """Translate a node's error reply into BacklogRefused, BacklogUnavailable or BacklogMissing.

    Errors of the service itself are known by their message alone: `BACKLOG/<code>: <what>`.

    :param address: address of the node that replied.
    """
    _, prefix, rest = error.message.partition(_PREFIX)
    if prefix:
        code, _, what = rest.partition(": ")
        what = what.splitlines()[0] if what else rest
        if code == "UNAVAILABLE":
            return BacklogUnavailable(what, "Try again; the nodes' logs say more", address=address)
        return BacklogRefused(what, REMEDIES.get(code, ""), code=code, address=address)
    if error.status == protocol.SECURITY_VIOLATION:
        what = f"Ignite does not let this user call a service: {error.message}"
        return BacklogRefused(what, REMEDIES[FORBIDDEN], code=FORBIDDEN, address=address)
    if _OTHER_CONTRACT in error.message:
        what = "the jar of the backlog service on this node is older than this program"
        return BacklogRefused(what, REMEDIES[OLDER_JAR], code=OLDER_JAR, address=address)
    if error.status == protocol.INVALID_OPERATION:
        what = f"the cluster's Ignite has no services for thin clients, and so no backlog service: {error.message}"
        return BacklogMissing(what, f"The backlog service runs on Ignite {IGNITE_RANGE}", address=address)
    if "Service not found" in error.message:
        what = "no node of the cluster has the backlog service"
        return BacklogMissing(what, "Put its jar on the class path of every server node", address=address)
    return BacklogUnavailable(
        f"a call of the backlog service failed: {error.message}", "The nodes' logs say more", address=address
    )
