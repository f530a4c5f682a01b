package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

/** Stored forms: chunks, ranges, unit records, expired keys. */
class ChunkTest {
    private static Change change(long number, String value) {
        return new Change(number, 7, Change.UPDATED, new byte[] {1}, value == null ? null : value.getBytes());
    }

    private static byte[] chunk(Change... changes) {
        return Chunk.encode(List.of(changes));
    }

    private static List<Long> numbers(byte[] chunk) {
        return Chunk.decode(chunk).stream().map(change -> change.number).collect(Collectors.toList());
    }

    @Test
    void versionsAreKept() {
        Change removed =
                new Change(6, 1, Change.REMOVED, new byte[] {1}, null, new EntryVersion(1L << 55, 1L << 56, (byte) 31));
        Change plain = new Change(7, 1, Change.UPDATED, new byte[] {1}, new byte[] {2});
        byte[] chunk = Chunk.encode(List.of(removed, plain));
        List<Change> decoded = Chunk.decode(chunk);

        assertEquals(List.of(removed, plain), decoded);
        assertEquals(removed.version, decoded.get(0).version);
        assertEquals(Change.REMOVED, decoded.get(0).kind);
        assertNull(decoded.get(1).version);
        assertEquals(7, Chunk.lastNumber(chunk));
        assertEquals(
                Chunk.encode(List.of(plain)).length + EntryVersion.BYTES - 1, Chunk.encode(List.of(removed)).length);
    }

    @Test
    void roundTripKeepsEverything() {
        Change change = Chunk.decode(chunk(new Change(5, 99, Change.REMOVED, new byte[] {1, 2}, null)))
                .get(0);

        assertEquals(5, change.number);
        assertEquals(99, change.timeMs);
        assertEquals(Change.REMOVED, change.kind);
        assertArrayEquals(new byte[] {1, 2}, change.key);
        assertEquals(-1, change.valueLength());
        assertEquals(new Change(5, 0, Change.UPDATED, new byte[] {1, 2}, null), change);
    }

    @Test
    void mergeAppendsInsertsAndKeepsOrder() {
        assertEquals(
                List.of(1L, 2L, 3L),
                numbers(Chunk.merge(chunk(change(1, "a")), chunk(change(2, "b"), change(3, "c")))));
        assertEquals(
                List.of(1L, 2L, 3L),
                numbers(Chunk.merge(chunk(change(1, "a"), change(3, "c")), chunk(change(2, "b")))));
    }

    @Test
    void aDuplicateChangesNothing() {
        byte[] present = chunk(change(1, "a"), change(2, null));

        assertSame(present, Chunk.merge(present, chunk(change(2, null))));
        assertSame(present, Chunk.merge(present, present.clone()));
    }

    @Test
    void keepsTwoContentsOfOneNumber() {
        byte[] merged = Chunk.merge(chunk(change(1, "a"), change(2, "b")), chunk(change(1, "x")));

        assertEquals(List.of(1L, 1L, 2L), numbers(merged));
        assertEquals(2, Chunk.lastNumber(merged));
    }

    @Test
    void theLowHalfOfTheHashIsThatOfTheKey() {
        CRC32 both = new CRC32();

        both.update(new byte[] {'a', 1, 'b'});

        assertEquals(
                both.getValue() << 32 | 0xE40C292CL,
                new Change(1, 7, Change.UPDATED, new byte[] {'a'}, new byte[] {'b'}).hash); // FNV-1a of "a"
    }

    @Test
    void nullAndEmptyValueDiffer() {
        assertFalse(change(1, null).equals(change(1, "")));
    }

    @Test
    void mergesAdjacentRanges() {
        Ranges ranges = new Ranges();

        ranges.add(1, 3);
        ranges.add(7, 9);
        ranges.add(4, 5);
        assertEquals(2, ranges.count());
        assertTrue(ranges.contains(5));
        assertFalse(ranges.contains(6));
        ranges.add(6, 6);
        assertEquals(1, ranges.count());
        assertEquals(9, ranges.last());
        ranges.add(20, 20);
        ranges.keepHighest(1);
        assertFalse(ranges.contains(9));
        assertTrue(ranges.contains(20));
    }

    @Test
    void recordRoundTripsWithALowEndNoHigherThanItsHighEnd() {
        Ranges ranges = new Ranges();

        ranges.add(1, 40);

        UnitRecord record = UnitRecord.decode(UnitRecord.empty()
                .spanning(0, 1)
                .marked(UnitRecord.GIVEN_UP)
                .acknowledged(ranges, 9, 1)
                .encode());

        assertEquals(1, record.low);
        assertEquals(1, record.high);
        assertEquals(UnitRecord.GIVEN_UP, record.marks);
        assertEquals(1, record.markNumber);
        assertTrue(record.sent.contains(40));
        assertEquals(UnitRecord.GIVEN_UP, record.cleared(7).marks);
        assertEquals(0, record.cleared(1).marks);
    }

    @Test
    void keepsTheLowEndIfChunksMayBeBelowIt() {
        UnitRecord record = UnitRecord.empty().spanning(0, 0).spanning(2, 2);

        assertEquals(0, record.turn);
        assertEquals(2, record.acknowledged(new Ranges(), 2, 0).low);
        assertEquals(0, record.spanning(2, 2).turn);
        assertEquals(1, record.spanning(1, 1).turn);
        assertEquals(1, record.spanning(1, 3).turn);
        assertEquals(0, record.spanning(1, 1).acknowledged(new Ranges(), 2, 0).low);
        assertEquals(0, record.spanning(Long.MAX_VALUE, -1).turn);
    }

    @Test
    void expiredKeysRoundTrip() {
        ByteBuffer key = ByteBuffer.wrap(new byte[] {4});

        assertEquals(1, ExpiredKeys.decode(bytes(Map.of(key, 12L))).size());
    }

    private static byte[] bytes(Map<ByteBuffer, Long> times) {
        return Entry.after(null, ExpiredKeys.add(times));
    }

    /** An entry for an entry processor, without a cache. */
    private static final class Entry implements javax.cache.processor.MutableEntry<BacklogKey, byte[]> {
        private byte[] value;

        static byte[] after(byte[] value, javax.cache.processor.EntryProcessor<BacklogKey, byte[], ?> processor) {
            Entry entry = new Entry();

            entry.value = value;
            processor.process(entry);

            return entry.value;
        }

        @Override
        public boolean exists() {
            return value != null;
        }

        @Override
        public void remove() {
            value = null;
        }

        @Override
        public void setValue(byte[] changed) {
            value = changed;
        }

        @Override
        public BacklogKey getKey() {
            return null;
        }

        @Override
        public byte[] getValue() {
            return value;
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            throw new IllegalArgumentException();
        }
    }
}
