package ignitekafka.backlog;

import java.nio.ByteBuffer;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;

/**
 * Version of an entry that clusters compare: the order of the write that made it, and the id of the cluster of that
 * write. Other parts of Ignite's versions have no meaning in another cluster.
 */
final class EntryVersion implements Comparable<EntryVersion> {
    /** Bytes of the encoded form. */
    static final int BYTES = Long.BYTES + 1;

    /** Less than that of any write. */
    static final EntryVersion NONE = new EntryVersion(0, (byte) 0);

    final long order;
    final byte cluster;

    EntryVersion(long order, byte cluster) {
        this.order = order;
        this.cluster = cluster;
    }

    /** The version of the write that made an entry, in whichever cluster it was. */
    static EntryVersion of(GridCacheVersion version) {
        GridCacheVersion written = version.conflictVersion();

        return new EntryVersion(written.order(), written.dataCenterId());
    }

    static EntryVersion read(ByteBuffer in) {
        return new EntryVersion(in.getLong(), in.get());
    }

    void write(ByteBuffer out) {
        out.putLong(order).put(cluster);
    }

    /** The greater of two versions; one of them may be null. */
    static EntryVersion greater(EntryVersion one, EntryVersion other) {
        return one == null || other != null && other.compareTo(one) > 0 ? other : one;
    }

    @Override
    public int compareTo(EntryVersion other) {
        int byOrder = Long.compare(order, other.order);

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
        return order + " of cluster " + cluster;
    }
}
