package ignitekafka.backlog;

import java.nio.ByteBuffer;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;

/**
 * Version of an entry that clusters compare: the {@link WriteRank} of the write that made it, then the write's order,
 * then the id of its cluster.
 *
 * <p>Order and cluster are parts of Ignite's versions. The rank of a put follows from its value. That of a removal that
 * comes from another cluster is in the parts of Ignite's version that mean nothing there, topology version and node
 * order; the highest bit of the node order, which no node reaches, says so.
 */
final class EntryVersion implements Comparable<EntryVersion> {
    /** Bytes of the encoded form. */
    static final int BYTES = 2 * Long.BYTES + 1;

    /** Less than that of any write. */
    static final EntryVersion NONE = new EntryVersion(0, (byte) 0);

    private static final int NODE_BITS = 26;
    private static final int HAS_RANK = 1 << NODE_BITS;

    final long rank;
    final long order;
    final byte cluster;

    EntryVersion(long order, byte cluster) {
        this(WriteRank.NONE, order, cluster);
    }

    EntryVersion(long rank, long order, byte cluster) {
        this.rank = rank;
        this.order = order;
        this.cluster = cluster;
    }

    /** The version of the write that made an entry, in whichever cluster it was; without a rank that is not in it. */
    static EntryVersion of(GridCacheVersion version) {
        GridCacheVersion written = version.conflictVersion();
        long rank = hasRank(version)
                ? (long) written.topologyVersion() << NODE_BITS | written.nodeOrder() & HAS_RANK - 1
                : WriteRank.NONE;

        return new EntryVersion(rank, written.order(), written.dataCenterId());
    }

    /** Whether a version has its rank in it: that of a removal that came from another cluster. */
    static boolean hasRank(GridCacheVersion version) {
        return (version.conflictVersion().nodeOrder() & HAS_RANK) != 0;
    }

    /** The same write with a rank. */
    EntryVersion ranked(long newRank) {
        return newRank == rank ? this : new EntryVersion(newRank, order, cluster);
    }

    static EntryVersion read(ByteBuffer in) {
        return new EntryVersion(in.getLong(), in.getLong(), in.get());
    }

    void write(ByteBuffer out) {
        out.putLong(rank).putLong(order).put(cluster);
    }

    /** The greater of two versions; one of them may be null. */
    static EntryVersion greater(EntryVersion one, EntryVersion other) {
        return one == null || other != null && other.compareTo(one) > 0 ? other : one;
    }

    @Override
    public int compareTo(EntryVersion other) {
        int byRank = Long.compare(rank, other.rank);
        int byOrder = byRank != 0 ? byRank : Long.compare(order, other.order);

        return byOrder != 0 ? byOrder : Byte.compare(cluster, other.cluster);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof EntryVersion && compareTo((EntryVersion) other) == 0;
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(order) + cluster;
    }

    @Override
    public String toString() {
        return order + " of cluster " + cluster + (rank == WriteRank.NONE ? "" : ", rank " + rank);
    }
}
