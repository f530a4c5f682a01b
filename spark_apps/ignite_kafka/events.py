"""Health events: ids, severities, messages and what to do. :mod:`.common.event_emission` logs and counts them.

Ids below 15100 and their severities are those of the GridGain Kafka Connector's monitoring page; ids from 15100 belong
to this project. Causes: :mod:`.event_descriptions`.
"""

from __future__ import annotations

from logging import ERROR, INFO, WARNING

from .common.event_emission import Event as Event
from .common.event_emission import Note as Note
from .common.event_emission import collect as collect
from .common.event_emission import emit as emit
from .common.event_emission import muted as muted
from .common.event_emission import note as note
from .common.event_emission import take_notes as take_notes
from .common.event_emission import unite_notes as unite_notes

MISCONFIGURED = Event(
    15000, ERROR, "the configuration is invalid: {reason}", "Correct the named setting and start again."
)
CONFIG_CHANGED = Event(
    15001, INFO, "some configuration was changed or ignored: {reason}", "Change the configuration as the message says."
)
OBJECT_NOT_BUILT = Event(
    15010, ERROR, "no Ignite object could be built from a record: {reason}", "Policy DEAD_LETTER keeps such records."
)
BACKLOG_FAILED = Event(
    15020, ERROR, "the backlog failed: {reason}", "Start again or clean up the backlog, depending on the reason."
)
QUERY_FAILED = Event(
    15030, WARNING, "changes could not be read and are read again: {reason}", "Check the health of the Ignite cluster."
)
WRITE_FAILED = Event(
    15040, WARNING, "a cache could not be written and is retried: {reason}", "Check the health of the Ignite cluster."
)
FILTER_NOT_MADE = Event(15050, ERROR, "the filter could not be created: {reason}", "Correct the filter.")
FILTER_FAILED = Event(15051, ERROR, "the filter raised an error: {reason}", "Correct the filter.")
IGNITE_CONNECTED = Event(15060, INFO, "connected to Ignite at {address}")
IGNITE_DISCONNECTED = Event(15061, INFO, "disconnected from Ignite at {address}")
CONVERTER_FAILED = Event(
    15070,
    ERROR,
    "an entry could not be converted to a record and is skipped: {reason}",
    "Policy DEAD_LETTER keeps such entries.",
)

RUN_STARTED = Event(15100, INFO, "run {run_id} of connector {connector} started with generation {generation}")
RUN_COMPLETED = Event(15101, INFO, "run {run_id} of connector {connector} is complete")
RUN_STOPPED = Event(15262, INFO, "run {run_id} of connector {connector} was stopped")
RUN_FAILED = Event(
    15102, ERROR, "run {run_id} of connector {connector} failed: {reason}", "The reason names the remedy."
)
RUN_FENCED = Event(
    15103,
    WARNING,
    "a newer run, a repair or a change of offsets of connector {connector} has taken over: {reason}",
    "Run a connector once at a time; after a repair or a change of offsets, start it again.",
)
OUTCOME_UNKNOWN = Event(
    15104,
    ERROR,
    "the outcome of a commit or a put is unknown: {reason}",
    "Run the same snapshot, or the sink, again: it first reads what was committed.",
)
SNAPSHOT_BEGUN = Event(
    15110, INFO, "snapshot {snapshot_id} of connector {connector} begins with {units} cache partitions"
)
SNAPSHOT_CONTINUED = Event(15111, INFO, "snapshot {snapshot_id} of connector {connector} continues")
SNAPSHOT_COMPLETE = Event(
    15112, INFO, "snapshot {snapshot_id} of connector {connector} is complete with {records} records"
)
SNAPSHOT_ALREADY_COMPLETE = Event(
    15113,
    INFO,
    "snapshot {snapshot_id} of connector {connector} was complete already; nothing is sent",
    "Use a new snapshot id to send again.",
)
SNAPSHOT_SUPERSEDED = Event(
    15114,
    WARNING,
    "unfinished snapshot {snapshot_id} of connector {connector} is superseded by {newer}",
    "None; its records stay.",
)
UNIT_REDONE = Event(15120, WARNING, "slot {slot} restarts after its last commit: {reason}", "None, unless it repeats.")
TOPICS_MADE = Event(15121, INFO, "topics were created: {topics}")
UPDATES_NOT_CAPTURED = Event(
    15130, INFO, "changes between runs are not captured: {reason}", "Set failover_policy to BACKLOG or FULL_SNAPSHOT."
)
REMOVALS_NOT_SENT = Event(15131, INFO, "removals send no tombstones: {reason}", "Set process_removals to true.")
NOTHING_TO_SEND = Event(15132, WARNING, "this run sends nothing: {reason}", "Set load_initial_data to true.")
TLS_NOT_VERIFIED = Event(
    15133, WARNING, "the certificate of the other side is not verified: {reason}", "Set ignite_tls_verify to true."
)
UPDATES_NOT_APPLIED = Event(
    15134, INFO, "existing entries are neither overwritten nor removed: {reason}", "Set process_updates to true."
)
BAD_RECORDS_SKIPPED = Event(
    15135,
    WARNING,
    "entries that cannot be sent and records that cannot be stored are skipped: {reason}",
    "Set the policy to DEAD_LETTER or STOP_TASK.",
)
OFFSETS_GUESSED = Event(
    15136, WARNING, "records deleted by retention are skipped: {reason}", "Set auto_offset_reset to none."
)
CAPTURE_BEGUN = Event(15140, INFO, "connector {connector} captures {caches} caches, capture {capture_id}")
CAPTURE_LOST = Event(
    15141,
    WARNING,
    "capture {capture_id} of connector {connector} is lost; all entries are sent again",
    "None; the cause is in the nodes' logs.",
)
CACHES_CHANGED = Event(15142, INFO, "connector {connector} adds {added} and drops {dropped}")
TARGET_CHANGED = Event(15143, INFO, "target state {state} of connector {connector} was requested")
KEYS_NOT_READ_BACK = Event(
    15144,
    WARNING,
    "{count} records of topic {topic} have keys that cannot be converted back to keys of cache {cache}, such as "
    "{example}: if such a key was removed while changes were not captured, its record stays in the topic",
    "Find them with `ignite-kafka verify`; the ignite-binary converter has no such keys.",
)
QUERIES_BEGUN = Event(
    15145,
    INFO,
    "no node has the backlog service: connector {connector} follows {caches} caches by continuous queries, and "
    "failover_policy {policy} decides what happens after changes that no query saw",
)
CHANGES_MISSING = Event(
    15146,
    WARNING,
    "changes of caches {caches} of connector {connector} may be missing in their topics: {reason}, and "
    "failover_policy is NONE",
    "Find them with `ignite-kafka verify`. FULL_SNAPSHOT sends the caches again; BACKLOG, with the backlog service, "
    "loses no change.",
)
CACHES_SENT_AGAIN = Event(
    15147,
    WARNING,
    "caches {caches} of connector {connector} are sent again: {reason}, and failover_policy is FULL_SNAPSHOT",
    "None. BACKLOG, with the backlog service on the nodes, sends only the changes.",
)
CAPTURE_KEPT = Event(
    15148,
    INFO,
    "connector {connector} is stopped, and the nodes keep capturing changes for its next run",
    "Start it again; if it is to end for good, run `ignite-kafka backlog cleanup NAME`.",
)
UNITS_SENT_AGAIN = Event(
    15149,
    WARNING,
    "{count} partitions of cache {cache}, such as {partition}, are sent again: their changes were {reason}",
    "None, unless it repeats: then give the backlog's region more memory, or restart nodes one at a time.",
)
OFFSET_RESET = Event(
    15151,
    WARNING,
    "partition {partition} of topic {topic} is read from offset {start}, not from {wanted}: {reason}",
    "The records in between are lost: raise the topic's retention, or run more often.",
)
TOPICS_CHANGED = Event(15152, INFO, "connector {connector} adds {added}")
CACHES_MADE = Event(15153, INFO, "caches were created: {caches}")
BACKUPS_BEHIND = Event(
    15154,
    WARNING,
    "cache {cache} acknowledges entries before its backups have them (write synchronization mode {synchronization}): "
    "entries of a node that dies may be lost although their offsets are committed",
    "Create the cache again with write synchronization mode FULL_SYNC: the mode cannot be altered.",
)
CACHE_DIFFERS = Event(
    15155,
    WARNING,
    "cache {cache} exists and differs from cache {source} of the source: {differences}",
    "If entries or queries shall be as at the source, alter the table, or destroy the cache: the sink creates it "
    "again.",
)
TABLE_GREW = Event(
    15260, INFO, "the SQL table {table} of cache {cache} got the columns {columns}, by which records have fields"
)
FIELD_DISCARDED = Event(
    15261,
    WARNING,
    "field {field} of records has no column in the SQL table of cache {cache}, and is not stored: schema_contract is "
    "discard_field",
    "Add the column by ALTER TABLE, or set schema_contract to evolve; earlier records get the field when their topic "
    "is read again (`offsets reset`).",
)
TOPICS_AWAITED = Event(15156, INFO, "connector {connector} waits for topics that do not exist yet: {topics}")
RECORDS_OPEN = Event(
    15157,
    WARNING,
    "records of topics wait behind transactions that are open, and are not stored by connector {connector}: {topics}",
    "The next run stores them, once the transactions have ended. If one hangs, see 'a transaction that hangs' in "
    "docs/operations.md.",
)
LAG_STANDS = Event(
    15158,
    WARNING,
    "connector {connector} has stored nothing of these partitions for {seconds} s although records wait: {partitions}",
    "An earlier event of this run may name the cause: a bad record, a node or broker that does not answer. If there "
    "is none, look at the executors' logs and at the size of the records.",
)
KEYS_MAY_COINCIDE = Event(
    15160,
    WARNING,
    "keys of cache {cache} are of {first} (such as {first_example}) and of {second} (such as {second_example}), which "
    "can give the same Kafka key: the record of one entry then replaces that of another",
    "Find such entries with `ignite-kafka verify`; use the ignite-binary converter or keys of one type. "
    "coinciding_keys=REFUSE stops runs.",
)
KEY_SPELLED_OTHERWISE = Event(
    15161,
    WARNING,
    "header {header} of topic {topic}, which makes the keys, has the text {text}, read as {read}: all texts that are "
    "read so give one key",
    "Set header_converter to string if texts such as 007 and 7 are different keys.",
)
ENTRIES_EXPIRE = Event(
    15162,
    WARNING,
    "entries of cache {cache} expire ({reason}), and a record has no deadline: the topic keeps an expired entry, and "
    "so does the cache of a sink until its own expiry policy removes it",
    "A stream with process_removals sends a tombstone when an entry expires.",
)
FRACTIONS_CUT = Event(
    15163,
    WARNING,
    "timestamps of {part}s of cache {cache} have fractions of a millisecond, which converter {converter} does not "
    "write",
    "Use the ignite-binary converter if the fractions matter.",
)
DECIMAL_WITHOUT_SCALE = Event(
    15165,
    WARNING,
    "decimals of cache {cache} are written in BASE64, but no query entity declares the scale of {field}, so a reader "
    "cannot know it",
    "Declare the column's scale, or set decimal_format to NUMERIC, or use the ignite-binary converter.",
)
TYPE_REGISTERED = Event(15166, INFO, "binary type {type} of topic {topic} is registered with the cluster")
TYPE_NOT_READ = Event(
    15167,
    WARNING,
    "the record of topic {topic} at offset {offset} describes no binary type and is skipped: {reason}",
    "Another program or a newer version wrote it; records of its type cannot be stored until the cluster knows the "
    "type.",
)
FLOAT_GUESSED = Event(
    15168,
    WARNING,
    "field {field} of binary type {type} is registered as {kind}, although its only values (NaN, Infinity, -Infinity) "
    "could be floats",
    "If that is wrong, declare the field in the cache's query entity: the cluster never changes a field's type.",
)
FIELD_LEFT_OUT = Event(
    15169,
    WARNING,
    "cache {cache}: field {field} of type {type} is not sent, because the schema of the type's first value lacks it",
    "Set is_schema_dynamic to true, so that each value has its own schema.",
)
TOPIC_REPLACED = Event(
    15170,
    WARNING,
    "cache {cache} is sent to topic {topic}, which differs from the earlier topic {before}: earlier records are not "
    "in it",
    "None if the topic was deleted, or the cache routed to another topic, on purpose.",
)
RECORD_SKIPPED = Event(
    15171,
    WARNING,
    "the record at offset {offset} of partition {partition} of topic {topic} is skipped: {reason}",
    "If no newer version runs with this internal_topic_prefix, check who may write to its topics.",
)
KAFKA_AWAITED = Event(
    15175,
    WARNING,
    "connector {connector} waits for Kafka, up to {seconds} s (retry_timeout_ms): {reason}",
    "None if a broker starts again; else check bootstrap_servers and the brokers.",
)
TOPIC_GREW = Event(
    15176,
    WARNING,
    "topic {topic} of cache {cache} grew from {before} to {partitions} partitions: new records of a key may go to "
    "another one than before",
    "Readers must order a key's records by another means than the partition, or give the cache a new topic.",
)
CACHE_LACKS_RECORDS = Event(
    15177,
    WARNING,
    "cache {cache} was created and lacks the records of topic {topic} that consumer group {group} has read before",
    "To read them again, stop the connector, run `ignite-kafka offsets reset NAME --to earliest --topic TOPIC`, and "
    "start it.",
)
CAPTURE_OPEN = Event(
    15180,
    WARNING,
    "the capture of connector {connector} has no secret: any user who may call the nodes' services can acknowledge "
    "its changes and end it",
    "Add backlog_secret, of at least 22 characters, to the part ignite of the data source's secrets file.",
)
INSECURE_CONNECTION = Event(
    15185,
    WARNING,
    "a connection to another host is not protected: {reason}",
    "Use TLS with verification, or accept the risk with allow_insecure_connections.",
)
SECRETS_EXPOSED = Event(
    15186,
    WARNING,
    "secrets are sent to executors unencrypted: {reason}",
    "Put the secrets file on driver and executors (secrets_file), or set the properties that the reason names.",
)
NODE_NOT_MAPPED = Event(
    15188, WARNING, "an Ignite node is not reached: {reason}", "Add an address of the node to ignite_address_map."
)
SIGNAL_BEGUN = Event(
    15230, INFO, "connector {connector} sends what signal {signal} selects of caches {caches} beside its changes"
)
SIGNAL_COMPLETED = Event(15231, INFO, "signal {signal} of connector {connector} is complete: {records} records")
SIGNAL_FAILED = Event(
    15232,
    WARNING,
    "signal {signal} of connector {connector} has failed, and the stream goes on without it: {reason}",
    "Correct what the reason names, and send a signal with a new id.",
)
SIGNAL_ABORTED = Event(
    15233, INFO, "signal {signal} of connector {connector} is stopped by request, after {records} records"
)
NAME_MATCHES_NOTHING = Event(
    15190,
    WARNING,
    "{setting} has the expression {name!r}, which applies to no cache or topic. {hint}",
    "Correct or remove it.",
)
SEVERAL_TYPES_IN_SUBJECT = Event(
    15195,
    WARNING,
    "subject {subject} gets schemas of several types, {first} and {second}: the registry compares them as versions of "
    "one schema",
    "Set the subject name strategy to TopicRecordNameStrategy, which gives each type a subject, or the subject's "
    "compatibility to NONE.",
)
TRANSFORMED_KEYS = Event(
    15196,
    WARNING,
    "transforms make the keys of records ({transforms}), which cannot be converted back to keys of caches: if an "
    "entry was removed while changes were not captured, its record stays in the topic",
    "Find them with `ignite-kafka verify`; transforms of values have no such keys.",
)
DIFFERENCES_FOUND = Event(
    15220,
    WARNING,
    "a comparison of connector {connector} found {keys} keys that differ between topics and caches: {caches}",
    "`ignite-kafka verify --name NAME` describes them; stop the connector, and --repair repairs them.",
)
NOT_ALL_COMPARED = Event(
    15221,
    WARNING,
    "not all keys of connector {connector} are compared within {within}: {reason}",
    "Compare more often, or a larger share of the keys; without a share, --within chooses it.",
)
DELIVERY_CONVERGES = Event(
    15280,
    INFO,
    "a put of a task that was superseded may come late and stay until the next record of its key: delivery is "
    "{delivery}",
    "Set delivery to strict, if every server node has the jar of the backlog service.",
)
CONFLICT_DECIDED = Event(
    15281,
    INFO,
    "{count} writes of cache {cache} lost by the rule against what was there, and were not stored: {foreign} of other "
    "clusters, {local} of this one; keys of the last ones: {keys}",
    "None: by order, or by a field or class that the nodes name, one write of a key stays in all clusters "
    "(docs/active-active.md). Writes of this cluster lose where its programs put lesser values than those that are "
    "there.",
)
REMOVALS_FORGOTTEN = Event(
    15286,
    WARNING,
    "nodes forgot the versions of {count} removed keys of cache {cache}, because too many waited in their memory: an "
    "older put of another cluster that comes later brings such a key back",
    "Give the data region of the cache more memory, or the nodes a larger IGNITE_KAFKA_ACTIVE_ACTIVE_MAX_TOMBSTONES; "
    "their logs say why versions could not be stored. Remove the keys that came back once more.",
)

EVENTS: dict[int, Event] = {event.id: event for event in tuple(globals().values()) if isinstance(event, Event)}
