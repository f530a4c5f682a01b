package ignitekafka.backlog;

import java.util.zip.CRC32;

/**
 * One captured update: number in the unit, time of capture on this node, kind, and key and value in Ignite's binary
 * form.
 *
 * <p>Number and {@link #hash} together identify a change, and define equality. A number alone does not: a primary that
 * died may have used it for an update that no other node has, and a data streamer without overwrite assigns a different
 * number on each owner.
 */
final class Change {
    static final byte CREATED = 1;
    static final byte UPDATED = 2;
    static final byte REMOVED = 3;
    static final byte EXPIRED = 4;

    /** Heap bytes of an entry beside its content: object, two arrays, a map node, a boxed long. */
    static final int OVERHEAD_BYTES = 160;

    final long number;
    final long timeMs;
    final byte kind;

    /**
     * High half: CRC-32 of key and value. Low half: FNV-1a of the key alone. A missing value counts as the byte 0; any
     * other has the byte 1 before it. The functions differ because two keys with equal CRC-32 have equal CRC-32 with
     * any value appended.
     */
    final long hash;

    final byte[] key;

    /** Null for a removal or expiry. */
    final byte[] value;

    /** Version of the write in all clusters; null for an expiry, and for caches that only this cluster writes. */
    final EntryVersion version;

    Change(long number, long timeMs, byte kind, byte[] key, byte[] value) {
        this(number, timeMs, kind, key, value, null);
    }

    Change(long number, long timeMs, byte kind, byte[] key, byte[] value, EntryVersion version) {
        this(number, timeMs, kind, hash(key, value), key, value, version);
    }

    Change(long number, long timeMs, byte kind, long hash, byte[] key, byte[] value, EntryVersion version) {
        this.number = number;
        this.timeMs = timeMs;
        this.kind = kind;
        this.hash = hash;
        this.key = key;
        this.value = value;
        this.version = version;
    }

    int valueLength() {
        return value == null ? -1 : value.length;
    }

    long heapBytes() {
        return OVERHEAD_BYTES + key.length + Math.max(0, valueLength());
    }

    private static long hash(byte[] key, byte[] value) {
        CRC32 sum = new CRC32();

        sum.update(key);
        sum.update(value == null ? 0 : 1);

        if (value != null) sum.update(value);

        return sum.getValue() << 32 | fnv(key) & 0xFFFFFFFFL;
    }

    private static int fnv(byte[] bytes) {
        int hash = 0x811C9DC5;

        for (byte one : bytes) hash = (hash ^ one & 0xFF) * 0x01000193;

        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Change && number == ((Change) other).number && hash == ((Change) other).hash;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(number);
    }
}
