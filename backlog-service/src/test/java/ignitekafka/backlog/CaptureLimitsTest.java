package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.ignite.IgniteException;
import org.junit.jupiter.api.Test;

/** Bounds that the administrator of a node sets, without nodes. */
class CaptureLimitsTest {
    private static final long HEAP = 1L << 30;

    @Test
    void defaultsFollowTheHeap() {
        CaptureLimits limits = limits(Map.of(), HEAP);

        assertEquals(HEAP / 4, limits.heapBytes);
        assertEquals(HEAP / 8, limits.bufferBytes);
        assertEquals(2_000_000, limits.bufferEntries);
        assertEquals(60_000, limits.flushMs);
        assertEquals(100, limits.captures);
        assertEquals(Set.of("kafka-connect"), limits.regions);
    }

    @Test
    void theDefaultsOfACaptureAreAllowedOnASmallHeap() {
        assertEquals(List.of(), limits(Map.of(), 1 << 20).exceeded(new ConnectorSettings("c", Map.of()), 0));
    }

    @Test
    void eachBoundAllowsItsValueAndNotTheNext() {
        CaptureLimits limits = limits(
                Map.of(
                        CaptureLimits.BUFFER_BYTES, "100000000",
                        CaptureLimits.BUFFER_ENTRIES, "300000",
                        CaptureLimits.FLUSH_MS, "1000",
                        CaptureLimits.CAPTURES, "2",
                        CaptureLimits.REGIONS, "one, two"),
                HEAP);

        for (String setting : List.of(
                ConnectorSettings.BUFFER_BYTES, ConnectorSettings.BUFFER_ENTRIES, ConnectorSettings.FLUSH_FREQUENCY)) {
            long bound = Map.of(
                            ConnectorSettings.BUFFER_BYTES, limits.bufferBytes,
                            ConnectorSettings.BUFFER_ENTRIES, limits.bufferEntries,
                            ConnectorSettings.FLUSH_FREQUENCY, limits.flushMs)
                    .get(setting);

            assertEquals(List.of(), limits.exceeded(settings(setting, bound), 1));

            List<String> exceeded = limits.exceeded(settings(setting, bound + 1), 1);

            assertEquals(1, exceeded.size());
            assertTrue(exceeded.get(0).startsWith(setting + " is '" + (bound + 1) + "'; the maximum is " + bound));
        }

        assertEquals(
                1,
                limits.exceeded(settings(ConnectorSettings.FLUSH_FREQUENCY, 0), 2)
                        .size());
        assertTrue(limits.exceeded(new ConnectorSettings("c", Map.of()), 0)
                .get(0)
                .endsWith("allowed are [one, two] (" + CaptureLimits.REGIONS + ')'));
    }

    @Test
    void aWrongBoundEndsTheNode() {
        for (String wrong : List.of("many", "0", "-1", "", "9223372036854775808")) {
            String message = assertThrows(
                            IgniteException.class, () -> limits(Map.of(CaptureLimits.HEAP_BYTES, wrong), HEAP))
                    .getMessage();

            assertTrue(message.startsWith(CaptureLimits.HEAP_BYTES + " is '" + wrong + "'"), message);
        }
    }

    private static CaptureLimits limits(Map<String, String> configured, long heap) {
        return new CaptureLimits(configured::get, heap);
    }

    private static ConnectorSettings settings(String name, long value) {
        return new ConnectorSettings("c", Map.of(name, String.valueOf(value), ConnectorSettings.REGION_NAME, "one"));
    }
}
