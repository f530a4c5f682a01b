package ignitekafka.backlog;

import java.util.Map;

/**
 * The backlog of caches' changes, for thin clients (op 7000, service {@value #NAME}) and Ignite's own service proxies.
 * Any node with the jar answers.
 *
 * <p>A <b>unit</b> is one partition of one incarnation of a cache. Ignite's update counter gives each change of a unit
 * its <b>number</b>: an identity and an order a key, never completeness: numbers have holes, may come late, and after a
 * node's death may come twice with other contents, side by side. What stands in the backlog is to be sent, in ascending
 * order. A change is known by number and hash; a reader remembers those it has sent, since another owner may put one
 * back after it was acknowledged, and looks the key up in the cache where a number says nothing.
 *
 * <p>A unit with <b>marks</b> is to be sent again from the cache: {@link #clear}, read its partition, {@link #barrier},
 * send the rows except those whose key has changes in the backlog, then these. Marks, as bits: 1 given up because
 * region or buffer was full, 2 changes were missed while nothing captured, 4 the backlog's own partition was lost, 8
 * (in answers only) that incarnation is captured no more, 16 {@link #mark} asked for it.
 *
 * <p>A <b>hash</b> has the CRC-32 of a change's key and value in its high half, 32 bits of FNV-1a of the key alone in
 * the low one; a missing value counts as the byte 0, another has the byte 1 before it. A <b>topology</b> is a number of
 * the server nodes: another when one comes or goes, also where one has come and gone.
 *
 * <p>Calls that read entries need the caller's right to read the cache, where nodes have a security plugin; what a call
 * does on the backlog's own caches it does with the node's rights. A request has at most a sixteenth of the node's
 * heap, and 64 MiB; so has an answer, unless a single change is larger.
 *
 * <p>All integers in byte layouts are little-endian and signed. Keys and values are Ignite's binary form, with type
 * code. Failures are {@link BacklogException}, whose message begins with {@code BACKLOG/<code>: }.
 */
public interface BacklogService {
    /** Name of the service. */
    String NAME = "ignite-kafka-backlog";

    /** Version of what nodes store and send each other. */
    String VERSION = "1";

    /** Version of this contract with callers: 2 knows secrets. A later one keeps the calls of the ones before. */
    int CONTRACT = 2;

    /** The {@link #CONTRACT} of the node that answers. */
    int version();

    /**
     * Captures caches for a connector, from before it returns on; repeatable.
     *
     * @param connector Name: letters, digits, {@code . _ -}.
     * @param settings {@code backlogCacheName}, {@code backlogServiceName}, {@code backlogCacheBackups},
     *     {@code backlogMemoryRegionName}, {@code backlogFlushFreq} (ms), {@code backlogBufferEntries},
     *     {@code backlogBufferBytes} (a node); names are suffixed with the connector's; and {@code backlogOwner}, whose
     *     capture it is: it is refused to others. All must be those that it began with.
     * @param caches Names of all its caches; the caller must be allowed to read them.
     * @param secret Of the capture, made by the caller, of at least 22 characters; or null. A capture that began with
     *     one demands it in each call that has a parameter for it, this one included. A capture without one takes such
     *     calls from everybody, until a start brings one.
     * @return As {@link #update}.
     */
    Map<String, Object> start(String connector, Map<String, String> settings, String[] caches, String secret);

    /** As callers of contract 1 start a capture: without a secret. */
    Map<String, Object> start(String connector, Map<String, String> settings, String[] caches);

    /**
     * Makes these the connector's caches, while it goes on with the others; a cache that was made again gets a new
     * incarnation.
     *
     * @return {@code captureId} (long; another than before means that the backlog was lost and begins anew),
     *     {@code registered} (int: services that register the capture of all caches, each on a node of its own), and
     *     for each cache {@code incarnation.<cache>} (long) and {@code partitions.<cache>} (int).
     */
    Map<String, Object> update(String connector, String[] caches, String secret);

    /** The same for a capture without a secret. */
    Map<String, Object> update(String connector, String[] caches);

    /** The connectors that capture. */
    String[] connectors();

    /**
     * How a capture is. As {@link #update}, and {@code owner} (String), {@code caches} (String[]), {@code servers}
     * (String[]), the ids of the server nodes that are alive, and {@code nodes} (String[]), a line a node:
     * {@code <consistent id> entries=<n> bytes=<n> written=<n> fill=<n.nnn>}: changes and bytes in its buffer, changes
     * written since its start, and how much of its memory region is in use.
     */
    Map<String, Object> status(String connector);

    /**
     * The backlog of each unit that has one or is marked; reads all of it on the nodes, so not for each poll.
     *
     * @return int32 {@code 0x31554B42} ("BKU1"), int32 units U, then columns: int64[U] each of incarnation, lowest
     *     number, highest number (-1: none), count of changes, their bytes as stored, number of the mark; then int32[U]
     *     each of cache id, partition, marks.
     */
    byte[] units(String connector);

    /**
     * Units whose backlog or marks have changed since the reader has asked before, so that it need not read the others.
     * What stands in the backlog and was read, but not acknowledged, is no change.
     *
     * @param place As the answer before had it; empty at first.
     * @return int32 {@code 0x31444B42} ("BKD1"), int32 topology, int32 1 when every unit may have changed (then none is
     *     named), int32 units U, int32 length of the place, 16 bytes a unit as in {@link #read}, then the place to give
     *     next time. What is read after this answer holds all that was written before that place.
     */
    byte[] changed(String connector, byte[] place);

    /**
     * Changes of units, lowest numbers first, until {@code maxBytes} is passed; what stands there and was read before
     * comes again until it is acknowledged. Keys that expired come last in a unit, once all its changes are in the
     * answer, as number -1, since Ignite gives expiry none: each is a question whether the cache still lacks the key.
     *
     * @param units 16 bytes each: int32 cache id, int32 partition, int64 incarnation.
     * @param maxBytes Of keys and values, no more than the node's limit counts; passed by less than what was read when
     *     half of it was passed, and at first by 128 chunks of 32 changes; below it, units are read to their end.
     * @return 24 bytes: int32 {@code 0x31434B42} ("BKC1"), int32 units U (as asked, in that order), int32 changes N,
     *     int32 topology, int64 bytes of entries. Columns: int64[U] number of the mark, int64[U] stamp for
     *     acknowledging expired keys (0: none), int64[N] number, int64[N] time in ms of the capturing node, int64[N]
     *     hash, int32[U] changes of the unit, int32[U] marks, int32[U] 1 when the unit has more than this, int32[N]
     *     length of key, int32[N] length of value, int8[N] kind (1 created, 2 updated, 3 removed, 4 expired; the last
     *     two have no value). Then the entries, as a page of a cache scan has them and as long as the columns say: key
     *     and value of each change, one after the other, an object (type 103) wrapped (type 27, int32 length, object,
     *     int32 0), a missing value as the one byte 101.
     */
    byte[] read(String connector, byte[] units, int maxBytes);

    /**
     * Removes what was sent, after its offsets are committed; repeatable.
     *
     * @param sent For each unit: its 16 bytes as in {@link #read}, int64 stamp of the expired keys sent (0: none),
     *     int32 count of changes, int32 0, then int64 number and int64 hash of each; the number -1 says nothing,
     *     expired keys are told by the stamp.
     */
    void acknowledge(String connector, byte[] sent, String secret);

    /** The same for a capture without a secret. */
    void acknowledge(String connector, byte[] sent);

    /**
     * Values as their primary nodes have them, where a change cannot tell: two contents under one number, or an expired
     * key.
     *
     * @param keys For each key: int32 length, key; objects stand without wrapper, in the answer too.
     * @return int32 keys N, int32[N] length of value (-1: the cache has not the key), then the values one after the
     *     other. Fewer keys than asked for where the values are larger than one answer may be: the first ones, at least
     *     one.
     */
    byte[] lookup(String connector, String cache, byte[] keys);

    /**
     * Partitions of keys, and whether their primary nodes have them.
     *
     * @param keys As in {@link #lookup}.
     * @return int32 keys N, int32[N] partition, int8[N] 1 when the cache has the key, else 0.
     */
    byte[] locate(String connector, String cache, byte[] keys);

    /** Returns when all that was captured before the call, on any node, stands in the backlog. */
    void barrier(String connector);

    /**
     * Before units are sent again: takes their marks away, removes what backlog and nodes have of them, and captures
     * them again where they were given up. Of a key, what is captured by a node and comes to the backlog after that is
     * all that it captured from some moment of the call on. A unit that was marked anew since the reader saw it stays
     * marked.
     *
     * @param units 24 bytes each: the unit as in {@link #read}, and int64 number of the mark.
     */
    void clear(String connector, byte[] units, String secret);

    /** The same for a capture without a secret. */
    void clear(String connector, byte[] units);

    /**
     * Marks units (16): they are to be sent again from the cache, though nothing was lost. Their changes go on being
     * captured.
     *
     * @param units As in {@link #read}; all of caches that the connector captures, in their present incarnation.
     */
    void mark(String connector, byte[] units, String secret);

    /** The same for a capture without a secret. */
    void mark(String connector, byte[] units);

    /**
     * All caches of the cluster's users.
     *
     * @return A line a cache: name, cache id, deployment id (another after the cache is made again), topology version
     *     of its start, partitions, group, with tabs between.
     */
    String[] caches();

    /**
     * Ends a capture; repeatable. The next start is a new capture.
     *
     * @param destroy Whether to destroy the connector's backlog cache.
     * @return {@code service} and {@code cache}: names of what was removed, null where there was nothing of this
     *     connector.
     */
    Map<String, Object> stop(String connector, boolean destroy, String secret);

    /** The same for a capture without a secret. */
    Map<String, Object> stop(String connector, boolean destroy);

    /**
     * The same for an administrator, whatever the capture's secret. Where a security plugin is on, the caller needs
     * ADMIN_OPS; with Ignite's own authentication it must be the user {@code ignite}. The node's log says who did it.
     */
    Map<String, Object> forceStop(String connector, boolean destroy);
}
