package ignitekafka.backlog;

import java.util.Map;

/**
 * The backlog of cache changes, for thin clients (op 7000, service {@value #NAME}) and Ignite's service proxies. Any
 * node with the jar answers.
 *
 * <p>A <b>unit</b> is one partition of one incarnation of a cache. The <b>number</b> of a change is Ignite's update
 * counter in its unit. Numbers order the changes of a key, but do not prove completeness: they have gaps, may arrive
 * late, and after the death of a node one number may have two contents. A reader sends everything in the backlog in
 * ascending order. Number and hash identify a change. A reader must remember which changes it has sent, because another
 * owner may put one back after it was acknowledged; and must look a key up in the cache if numbers do not decide its
 * last state.
 *
 * <p>A unit with <b>marks</b> must be sent again from the cache: {@link #clear}, read its partition, {@link #barrier},
 * send the rows except those whose key has changes in the backlog, then the changes. Marks are bits: 1 changes were
 * given up, because region or buffer was full; 2 changes were missed while nothing captured; 4 the partition of the
 * backlog cache was lost; 8 (in answers only) the incarnation is no longer captured; 16 requested by {@link #mark}.
 *
 * <p>A <b>hash</b> has the CRC-32 of key and value of a change in the high 32 bits, and the 32-bit FNV-1a of the key
 * alone in the low ones; a missing value counts as the byte 0, any other has the byte 1 before it. A <b>topology</b> is
 * a number that changes whenever a server node joins or leaves, also when one has joined and left again.
 *
 * <p>Calls that read entries need the caller's permission to read the cache, if nodes have a security plugin. Calls
 * access the backlog's own caches with the permissions of the node. A request has at most 1/16 of the node's heap, and
 * at most 64 MiB; so has an answer, unless a single change is larger.
 *
 * <p>All integers in byte layouts are little-endian and signed. Keys and values are in Ignite's binary form, with type
 * code. Failures are {@link BacklogException}, whose message begins with {@code BACKLOG/<code>: }.
 */
public interface BacklogService {
    /** Name of the service. */
    String NAME = "ignite-kafka-backlog";

    /** Version of the formats that nodes store and exchange. */
    String VERSION = "1";

    /**
     * Version of this contract with callers; 2 added secrets, 3 {@link #ends}, 4 {@link #raise}, {@link #write}, 5
     * {@link #writeGreatest}, {@link #activeActive}, {@link #entries} and versions in {@link #read}, 6
     * {@link #activeActiveCaches}, and versions of removed keys behind a {@link #barrier}. A later version keeps the
     * calls of earlier ones.
     */
    int CONTRACT = 6;

    /** Returns the {@link #CONTRACT} of the answering node. */
    int version();

    /**
     * Starts to capture caches for a connector; the capture is active when the call returns. Idempotent.
     *
     * @param connector Name: letters, digits, {@code . _ -}.
     * @param settings {@code backlogCacheName}, {@code backlogServiceName}, {@code backlogCacheBackups},
     *     {@code backlogMemoryRegionName}, {@code backlogFlushFreq} (ms), {@code backlogBufferEntries} and
     *     {@code backlogBufferBytes} (of a node), {@code backlogOwner}. The connector's name is appended to names. A
     *     capture refuses other owners. All settings must equal those of the first start, which are within the limits
     *     of all nodes.
     * @param caches Names of all its caches, at least one; the caller must have permission to read them.
     * @param secret Secret of the capture, chosen by the caller, with at least 22 characters; or null. A capture that
     *     was started with a secret requires it in each call with such a parameter, including this one. A capture
     *     without a secret accepts calls from everybody. Only an administrator adds a secret to it while it runs.
     * @return As {@link #update(String, String[], String)}.
     */
    Map<String, Object> start(String connector, Map<String, String> settings, String[] caches, String secret);

    /** Starts a capture without a secret, for callers of contract 1. */
    Map<String, Object> start(String connector, Map<String, String> settings, String[] caches);

    /**
     * Replaces the connector's caches, without interrupting the capture of those that stay. A cache that was created
     * again gets a new incarnation.
     *
     * @return {@code captureId} (long; a new value means that the backlog was lost and is empty), {@code registered}
     *     (int: number of services that capture all caches, each on its own node), and for each cache
     *     {@code incarnation.<cache>} (long) and {@code partitions.<cache>} (int).
     */
    Map<String, Object> update(String connector, String[] caches, String secret);

    /** The same for a capture without a secret. */
    Map<String, Object> update(String connector, String[] caches);

    /** Returns the names of the connectors with a capture. */
    String[] connectors();

    /**
     * Returns the state of a capture: as {@link #update(String, String[], String)}, and {@code owner} (String),
     * {@code caches} (String[]), {@code servers} (String[]: ids of the live server nodes), and {@code nodes} (String[]:
     * a line for each node, {@code <consistent id> entries=<n> bytes=<n> written=<n> fill=<n.nnn>}: changes and bytes
     * in its buffer, changes written since its start, used fraction of its memory region).
     */
    Map<String, Object> status(String connector);

    /**
     * Returns the backlog of each unit that has changes or marks. Expensive: reads the whole backlog on the nodes.
     *
     * @return int32 {@code 0x31554B42} ("BKU1"), int32 units U, then columns: int64[U] each of incarnation, lowest
     *     number, highest number (-1: none), count of changes, their stored bytes, number of the mark; then int32[U]
     *     each of cache id, partition, marks.
     */
    byte[] units(String connector);

    /**
     * Returns what each unit that has changes or marks has left to send. Nodes read the record of each unit, and of a
     * unit with changes the first and the last chunk.
     *
     * @return int32 {@code 0x31454B42} ("BKE1"), int32 units U, then columns: int64[U] each of incarnation, lowest
     *     number, highest number (-1: none), count, time of the oldest change in ms on the capturing node (0: none),
     *     number of the mark; then int32[U] each of cache id, partition, marks. The count is the numbers from the
     *     lowest to the highest, without those acknowledged, and the expired keys. It is at least the count of
     *     {@link #units}, and larger where the cache's counter skipped numbers.
     */
    byte[] ends(String connector);

    /**
     * Returns the units whose backlog or marks have changed since the reader's previous call. Changes that were read
     * but not acknowledged do not count.
     *
     * @param position From the previous answer; empty in the first call.
     * @return int32 {@code 0x31444B42} ("BKD1"), int32 topology, int32 1 if any unit may have changed (then none is
     *     listed), int32 units U, int32 length of the position, 16 bytes for each unit as in {@link #read}, then the
     *     position for the next call. A read after this answer returns everything that was written before the position.
     */
    byte[] changed(String connector, byte[] position);

    /**
     * Returns changes of units, lowest numbers first, until {@code maxBytes} is exceeded. Changes are returned again
     * until they are acknowledged. Expired keys come last in a unit, after all its changes, with the number -1 because
     * Ignite assigns none; the reader must look up whether the cache still lacks the key.
     *
     * @param units 16 bytes each: int32 cache id, int32 partition, int64 incarnation.
     * @param maxBytes Target for keys and values, at most the size limit of the node. The excess is less than what was
     *     read when half of the target was exceeded, and at first less than 128 chunks of 32 changes. Below the target,
     *     units are read to their end.
     * @return 24 bytes: int32 {@code 0x31434B42} ("BKC1"), int32 units U (in the requested order), int32 changes N,
     *     int32 topology, int64 bytes of entries. Columns: int64[U] number of the mark, int64[U] stamp that
     *     acknowledges the expired keys (0: none), int64[N] number, int64[N] time in ms on the capturing node, int64[N]
     *     hash, int32[U] changes of the unit, int32[U] marks, int32[U] 1 if the unit has more, int32[N] length of key,
     *     int32[N] length of value, int8[N] kind (1 created, 2 updated, 3 removed, 4 expired; the last two have no
     *     value). Then the entries, encoded as in a page of a cache scan: key and value of each change, of the lengths
     *     in the columns; an object (type 103) is wrapped (type 27, int32 length, object, int32 0), a missing value is
     *     the byte 101. If any change has a version (its cache is written by other clusters too), the answer begins
     *     with int32 {@code 0x32434B42} ("BKC2") and has three more columns: int64[N] rank and int64[N] order after
     *     int64[N] hash, and int8[N] cluster after int8[N] kind, all 0 for changes without a version. The rank is that
     *     of the rule of {@link #activeActive}: 0 without one.
     */
    byte[] read(String connector, byte[] units, int maxBytes);

    /**
     * Removes sent changes, once their offsets are committed. Idempotent.
     *
     * @param sent For each unit: its 16 bytes as in {@link #read}, int64 stamp of the sent expired keys (0: none),
     *     int32 count of changes, int32 0, then int64 number and int64 hash of each. The number -1 is ignored: the
     *     stamp acknowledges expired keys.
     */
    void acknowledge(String connector, byte[] sent, String secret);

    /** The same for a capture without a secret. */
    void acknowledge(String connector, byte[] sent);

    /**
     * Returns values from the primary nodes of keys. Readers need it where changes do not decide: one number with two
     * contents, or an expired key.
     *
     * @param keys For each key: int32 length, key; objects have no wrapper, also in the answer.
     * @return int32 keys N, int32[N] length of value (-1: the key is not in the cache), then the values. If the values
     *     exceed the size limit, N is less than the number of requested keys; the answer then has the first ones, at
     *     least one.
     */
    byte[] lookup(String connector, String cache, byte[] keys);

    /**
     * Returns the partitions of keys, and whether they are in the cache, from their primary nodes.
     *
     * @param keys As in {@link #lookup}.
     * @return int32 keys N, int32[N] partition, int8[N] 1 if the key is in the cache, else 0.
     */
    byte[] locate(String connector, String cache, byte[] keys);

    /**
     * Returns once everything that any node captured before the call is in the backlog, and versions of keys that were
     * removed before it in caches {@code ignite-kafka-tombstones-<cache>}: these have the keys and the partitions of
     * the caches that other clusters write, too.
     */
    void barrier(String connector);

    /**
     * Prepares units to be sent again: removes their marks and everything that backlog and nodes hold of them, and
     * captures units again that were given up. For each key, the backlog afterwards receives from a node all changes
     * that this node captured from some moment of the call on. A unit that was marked again after the given mark number
     * stays marked.
     *
     * @param units 24 bytes each: the unit as in {@link #read}, and int64 number of the mark.
     */
    void clear(String connector, byte[] units, String secret);

    /** The same for a capture without a secret. */
    void clear(String connector, byte[] units);

    /**
     * Marks units with 16, to be sent again from the cache although nothing was lost. Their capture continues.
     *
     * @param units As in {@link #read}; all of caches that the connector captures, in their present incarnation.
     */
    void mark(String connector, byte[] units, String secret);

    /** The same for a capture without a secret. */
    void mark(String connector, byte[] units);

    /**
     * Returns all user caches of the cluster.
     *
     * @return For each cache a line with tabs: name, cache id, deployment id (a new one when the cache is created
     *     again), topology version of its start, partitions, group. Names may hold tabs too: the id is the hash of the
     *     name, and so tells where the name ends.
     */
    String[] caches();

    /**
     * Ends a capture. Idempotent. The next start is a new capture.
     *
     * @param destroy Whether to destroy the connector's backlog cache.
     * @return {@code service} and {@code cache}: names of what was removed, or null.
     */
    Map<String, Object> stop(String connector, boolean destroy, String secret);

    /** The same for a capture without a secret. */
    Map<String, Object> stop(String connector, boolean destroy);

    /**
     * Ends a capture without its secret, for an administrator. With a security plugin the caller needs ADMIN_OPS; with
     * Ignite's own authentication it must be the user {@code ignite}. The node logs the caller.
     */
    Map<String, Object> forceStop(String connector, boolean destroy);

    /**
     * Puts the token of a sink's task in force on all nodes. After the return, no write of the sink with an older token
     * changes an entry, whenever it was sent. Idempotent. Server nodes without the jar may not join until
     * {@link #forget}.
     *
     * @param sink Name of the sink, the same for all its runs and of no other sink.
     * @param writer int32 each: generation of the run, epoch, attempt, turn, then the slots of the task. Without slots,
     *     the token is of the whole sink: a new generation ends all tokens of older ones, also of slots that the new
     *     run does not have.
     * @param caches Names of the caches that the sink writes, at least one; the caller must have permission to put and
     *     remove their entries.
     * @throws BacklogException FENCED: a greater token is in force, which the message names.
     */
    void raise(String sink, byte[] writer, String[] caches);

    /** Returns the generation in force of a sink, or 0. */
    int generation(String sink);

    /**
     * Puts and removes entries, if the token is in force for all slots when the primary node changes each.
     *
     * @param writer As in {@link #raise}, with at least one slot.
     * @param insert Whether existing entries stay as they are.
     * @param entries int32 count N, int32[N] length of key, int32[N] length of value (-1: the entry is removed), then
     *     key and value of each entry, once for a key; objects have no wrapper.
     * @throws BacklogException FENCED: the token was not in force for some of them; others may be written.
     */
    void write(String sink, byte[] writer, String cache, boolean insert, byte[] entries);

    /**
     * Puts each entry whose field is not less than that of the present entry, under the lock of the entry; otherwise
     * the entry stays as it is. Accepted are byte, short, int and long, compared as they are, and Date and Timestamp,
     * compared by their microseconds since 1970. A present entry without such a field is less than any value.
     *
     * @param writer As in {@link #write}.
     * @param field Name of a field of the values.
     * @param entries As in {@link #write}, without removals.
     * @throws BacklogException FENCED, as from {@link #write}; MALFORMED: an entry is removed, or its value has no such
     *     field. Nothing is written then.
     */
    void writeGreatest(String sink, byte[] writer, String cache, String field, byte[] entries);

    /**
     * Returns whether other clusters write a cache too (the nodes' {@code IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES}), and how
     * its writes were decided. The caller must have permission to read the cache.
     *
     * @return {@code cluster} (int: id of this cluster, 0 if no other writes the cache; then nothing else),
     *     {@code foreignRefused} and {@code localRefused} (long: writes of other clusters and of this one that were not
     *     stored because the entry, or the removal of the key, has a greater version; since the nodes started),
     *     {@code lastKeys} (String[]: keys of the last of them, at most ten of each node), {@code tombstonesWaiting}
     *     and {@code tombstonesDropped} (long: versions of removed keys that wait to be stored, and that had no place
     *     to wait), {@code rule} (String: what decides before the order of writes, {@code field <name>} or {@code class
     *     <name>}, or empty; equal numbers, of which a rank is made, are to be equal in all clusters), {@code order}
     *     (long: the greatest order of a version on the nodes), {@code readsThrough} (int: 1 if reads of the cache load
     *     entries from a cache store, else 0).
     */
    Map<String, Object> activeActive(String cache);

    /** Returns the names of caches that other clusters write, too, by the nodes' configuration; they need not exist. */
    String[] activeActiveCaches();

    /**
     * Returns values of keys with the versions that belong to them, from the primary nodes. The caller must have
     * permission to read the cache.
     *
     * @param keys As in {@link #lookup}.
     * @return int32 keys N, int64[N] rank, int64[N] order, int32[N] length of value (-1: the key is not in the cache),
     *     int8[N] cluster, then the values. A key that is absent has the version of its removal, or zeros if none is
     *     known. N may be less than the number of requested keys, as in {@link #lookup}.
     */
    byte[] entries(String cache, byte[] keys);

    /** Ends the fence of a sink that was deleted; what still writes for it is refused. Rights as for {@link #raise}. */
    void forget(String sink, String[] caches);
}
