package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * One partition of one incarnation of a cache: changes are numbered, marked and sent again by unit. Encoded in 16
 * bytes: int32 cache id, int32 partition, int64 incarnation.
 */
final class Unit {
    static final int BYTES = 16;

    final int cacheId;
    final int partition;
    final long incarnation;

    Unit(int cacheId, int partition, long incarnation) {
        this.cacheId = cacheId;
        this.partition = partition;
        this.incarnation = incarnation;
    }

    static Unit read(ByteBuffer in) {
        return new Unit(in.getInt(), in.getInt(), in.getLong());
    }

    void write(ByteBuffer out) {
        out.putInt(cacheId).putInt(partition).putLong(incarnation);
    }

    BacklogKey record() {
        return new BacklogKey(this, BacklogKey.RECORD);
    }

    BacklogKey expired() {
        return new BacklogKey(this, BacklogKey.EXPIRED);
    }

    BacklogKey chunk(long index) {
        return new BacklogKey(this, index);
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof Unit)) return false;

        Unit unit = (Unit) other;

        return cacheId == unit.cacheId && partition == unit.partition && incarnation == unit.incarnation;
    }

    @Override
    public int hashCode() {
        return Objects.hash(cacheId, partition, incarnation);
    }

    @Override
    public String toString() {
        return "unit [cacheId=" + cacheId + ", partition=" + partition + ", incarnation=" + incarnation + ']';
    }
}
