package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.logger.java.JavaLogger;
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

    private static ActiveActive given(String fields, String ranks) {
        return new ActiveActive(name -> {
            switch (name) {
                case ActiveActive.CLUSTER:
                    return "1";

                case ActiveActive.CACHES:
                    return "a,b,c:d";

                case ActiveActive.FIELDS:
                    return fields;

                default:
                    return name.equals(ActiveActive.RANKS) ? ranks : null;
            }
        });
    }

    @Test
    void namesRulesOfCaches() {
        String name = TestValue.Rank.class.getName();
        ActiveActive given = given("c:d:at, a:number", "b:" + name);

        assertEquals("field number", given.rank("a").rule);
        assertEquals("class " + name, given.rank("b").rule);
        assertEquals("field at", given.rank("c:d").rule);
        assertFalse(given(null, null).rank("a").isGiven());
        assertTrue(given.identity().endsWith("ms, a by field number, b by class " + name + ", c:d by field at"));
    }

    @ParameterizedTest
    @CsvSource({
        "number, , must be a cache of",
        "other:number, , must be a cache of",
        "a:, , must be a cache of",
        ", a:no.such.Class, cannot be used",
        ", a:java.lang.String, does not implement ToLongFunction",
        "a:number, a:ignitekafka.backlog.TestValue$Rank, name cache 'a' twice"
    })
    void refusesOtherRules(String fields, String ranks, String message) {
        IgniteException refused = assertThrows(IgniteException.class, () -> given(fields, ranks));

        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    @Test
    void eachValueHasARank() {
        IgniteLogger log = new JavaLogger();
        WriteRank ofField = WriteRank.ofField(TestValue.FIELD);
        WriteRank ofClass = WriteRank.ofClass(TestValue.Rank.class.getName());

        assertEquals(WriteRank.NONE, ofField.of("text", log));
        assertEquals(WriteRank.NONE, ofClass.of("text", log)); // it fails
        assertEquals(WriteRank.NONE, WriteRank.OF_ALL.of(5L, log));
        assertEquals(1, WriteRank.ofClass(Itself.class.getName()).of(Long.MIN_VALUE, log));
        assertEquals((1L << 56) - 7, WriteRank.ofClass(Itself.class.getName()).of(-7L, log));
        assertEquals(
                (1L << WriteRank.BITS) - 1,
                WriteRank.ofClass(Itself.class.getName()).of(Long.MAX_VALUE, log));
    }

    /** A number is its own rank. */
    public static final class Itself implements ToLongFunction<Object> {
        @Override
        public long applyAsLong(Object value) {
            return (Long) value;
        }
    }

    @Test
    void aRankIsInTheVersionOfARemoval() {
        for (long rank : new long[] {0, 1, 1L << 26, (1L << 56) + 5, (1L << WriteRank.BITS) - 1}) {
            EntryVersion version = new EntryVersion(rank, 7, (byte) 31);

            assertEquals(version, EntryVersion.of(TestReader.withRank(version)));
            assertTrue(EntryVersion.hasRank(TestReader.withRank(version)));
        }

        GridCacheVersion local = new GridCacheVersion(400_000_000, 7, 12, 31);

        assertFalse(EntryVersion.hasRank(local));
        assertEquals(new EntryVersion(7, (byte) 31), EntryVersion.of(local));
    }

    @Test
    void theRankDecidesThenTheOrderThenTheCluster() {
        assertTrue(new EntryVersion(2, 5, (byte) 1).compareTo(new EntryVersion(1, 6, (byte) 2)) > 0);

        EntryVersion low = new EntryVersion(5, (byte) 9);
        EntryVersion high = new EntryVersion(6, (byte) 1);

        assertTrue(low.compareTo(high) < 0);
        assertTrue(new EntryVersion(6, (byte) 2).compareTo(high) > 0);
        assertEquals(high, EntryVersion.greater(low, high));
        assertEquals(high, EntryVersion.greater(high, null));
        assertEquals(low, EntryVersion.greater(null, low));
    }
}
