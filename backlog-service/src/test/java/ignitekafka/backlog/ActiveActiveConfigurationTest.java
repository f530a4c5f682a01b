package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import org.apache.ignite.IgniteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The configuration of a node, and the order of versions. */
class ActiveActiveConfigurationTest {
    @Test
    void readsIdAndCaches() {
        ActiveActive given = new ActiveActive(Map.of(
                ActiveActive.CLUSTER, " 31 ", ActiveActive.CACHES, "b, a,,b", ActiveActive.TOMBSTONE_MS, "5")::get);

        assertTrue(given.isConfigured());
        assertEquals(31, given.cluster);
        assertEquals(Set.of("a", "b"), given.caches);
        assertEquals("cluster 31, caches [a, b], 5 ms", given.identity());
    }

    @Test
    void isOffWithoutAConfiguration() {
        ActiveActive none = new ActiveActive(name -> null);

        assertFalse(none.isConfigured());
        assertFalse(none.has("a"));
        assertEquals("", none.identity());
    }

    @ParameterizedTest
    @CsvSource({
        "1, , IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES must be set together",
        ", a, IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES must be set together",
        "32, a, must be a whole number from 1 to 31",
        "0, a, must be a whole number from 1 to 31",
        "x, a, must be a whole number from 1 to 31"
    })
    void refusesOthers(String cluster, String caches, String message) {
        IgniteException refused = assertThrows(
                IgniteException.class,
                () -> new ActiveActive(name -> name.equals(ActiveActive.CLUSTER)
                        ? cluster
                        : name.equals(ActiveActive.CACHES) ? caches : null));

        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    @Test
    void theOrderDecidesThenTheCluster() {
        EntryVersion low = new EntryVersion(5, (byte) 9);
        EntryVersion high = new EntryVersion(6, (byte) 1);

        assertTrue(low.compareTo(high) < 0);
        assertTrue(new EntryVersion(6, (byte) 2).compareTo(high) > 0);
        assertEquals(high, EntryVersion.greater(low, high));
        assertEquals(high, EntryVersion.greater(high, null));
        assertEquals(low, EntryVersion.greater(null, low));
    }
}
