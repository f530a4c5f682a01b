package ignitekafka.backlog;

import java.util.Objects;
import org.apache.ignite.cache.affinity.AffinityKeyMapped;

/**
 * Key of the backlog cache: a unit and a part of it. Its affinity key is the partition number of the unit, so that with
 * Ignite's default affinity, primary and backups of a partition also hold its backlog.
 */
final class BacklogKey implements Comparable<BacklogKey> {
    /** The unit's {@link UnitRecord}. */
    static final long RECORD = -1;

    /** The unit's {@link ExpiredKeys}. */
    static final long EXPIRED = -2;

    /** The only entry without a unit: the capture id of the content, as eight bytes. Lost with the content. */
    static final BacklogKey CAPTURE = new BacklogKey(new Unit(0, 0, 0), -3);

    private final int cacheId;

    @AffinityKeyMapped
    private final int partition;

    private final long incarnation;

    /** Index of a {@link Chunk}, or one of the negative constants. */
    private final long part;

    BacklogKey(Unit unit, long part) {
        cacheId = unit.cacheId;
        partition = unit.partition;
        incarnation = unit.incarnation;
        this.part = part;
    }

    Unit unit() {
        return new Unit(cacheId, partition, incarnation);
    }

    long part() {
        return part;
    }

    /** The order in which all writers lock several keys, so that they cannot deadlock. */
    @Override
    public int compareTo(BacklogKey other) {
        int order = Integer.compare(partition, other.partition);

        if (order == 0) order = Integer.compare(cacheId, other.cacheId);

        if (order == 0) order = Long.compare(incarnation, other.incarnation);

        return order == 0 ? Long.compare(part, other.part) : order;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BacklogKey
                && part == ((BacklogKey) other).part
                && unit().equals(((BacklogKey) other).unit());
    }

    @Override
    public int hashCode() {
        return Objects.hash(cacheId, partition, incarnation, part);
    }
}
