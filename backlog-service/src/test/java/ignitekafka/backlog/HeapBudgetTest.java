package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.ignite.logger.NullLogger;
import org.junit.jupiter.api.Test;

/** The heap that the buffers of several captures share, without nodes. */
class HeapBudgetTest {
    private static final int ENTRY_BYTES = Change.OVERHEAD_BYTES + Integer.BYTES;
    private static final CaptureLimits LIMITS =
            new CaptureLimits(Map.of(CaptureLimits.BUFFER_BYTES, String.valueOf(20 * ENTRY_BYTES))::get, 1 << 30);

    @Test
    void theCaptureThatUsesTheMostGivesUnitsUp() {
        HeapBudget heap = new HeapBudget(10 * ENTRY_BYTES);
        CaptureBuffer small = buffer("small", heap);
        CaptureBuffer large = buffer("large", heap);
        UnitBuffer smallUnit = unit(1);
        UnitBuffer largeUnit = unit(2);
        UnitBuffer other = unit(3);

        add(large, largeUnit, 6);
        add(large, other, 2);
        add(small, smallUnit, 2);
        assertEquals(8 * ENTRY_BYTES, large.bytes());
        add(small, smallUnit, 5);
        assertTrue(largeUnit.givenUp());
        assertFalse(other.givenUp());
        assertFalse(smallUnit.givenUp());
        assertEquals(2 * ENTRY_BYTES, large.bytes());
        assertEquals(5 * ENTRY_BYTES, small.bytes());
    }

    @Test
    void aCaptureThatEndedUsesNothing() {
        HeapBudget heap = new HeapBudget(10 * ENTRY_BYTES);
        CaptureBuffer ended = buffer("ended", heap);
        CaptureBuffer next = buffer("next", heap);
        UnitBuffer unit = unit(1);

        add(ended, unit(2), 9);
        heap.remove(ended);
        add(next, unit, 10);
        assertFalse(unit.givenUp());
    }

    @Test
    void aNodesBoundHoldsForACaptureWithHigherSettings() {
        CaptureBuffer buffer = new CaptureBuffer(
                new ConnectorSettings("c", Map.of(ConnectorSettings.BUFFER_BYTES, "9223372036854775807")),
                LIMITS,
                new HeapBudget(Long.MAX_VALUE),
                new NullLogger());
        UnitBuffer unit = unit(1);

        add(buffer, unit, 20);
        assertFalse(unit.givenUp());
        add(buffer, unit, 21);
        assertTrue(unit.givenUp());
        assertEquals(0, buffer.bytes());
    }

    @Test
    void aBufferThatIsHalfFullIsWrittenNow() {
        CaptureBuffer buffer = buffer("c", new HeapBudget(Long.MAX_VALUE));
        UnitBuffer unit = unit(1);

        for (int key = 0; key < 20; key++)
            assertEquals(key == 10, buffer.added(unit, unit.addExpired(bytes(key), 0)), "entry " + key);
    }

    private static CaptureBuffer buffer(String connector, HeapBudget heap) {
        return new CaptureBuffer(new ConnectorSettings(connector, Map.of()), LIMITS, heap, new NullLogger());
    }

    private static UnitBuffer unit(int partition) {
        return new UnitBuffer(new Unit(1, partition, 1), "a");
    }

    /** Adds expired keys until the unit has had so many. */
    private static void add(CaptureBuffer buffer, UnitBuffer unit, int count) {
        for (int key = 0; key < count; key++) {
            long bytes = unit.addExpired(bytes(key), 0);

            if (bytes > 0) buffer.added(unit, bytes);
        }
    }

    private static byte[] bytes(int key) {
        return Chunk.buffer(new byte[Integer.BYTES]).putInt(key).array();
    }
}
