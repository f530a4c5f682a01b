package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.ToLongFunction;
import javax.cache.processor.MutableEntry;
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

    @Test
    void aRuleThatCannotRunGivesTheLowestRank() {
        for (Throwable cause : List.of(
                new NoClassDefFoundError("a.Library"), new AssertionError("of the rule"), new StackOverflowError())) {
            Failing.cause = cause;
            assertEquals(
                    WriteRank.NONE, WriteRank.ofClass(Failing.class.getName()).of(5L, new JavaLogger()));
        }
    }

    /** Fails as a class does that another class needs, or that is wrong. */
    public static final class Failing implements ToLongFunction<Object> {
        static Throwable cause;

        @Override
        public long applyAsLong(Object value) {
            throw (Error) cause;
        }
    }

    @Test
    void ofTwoRemovalsTheGreaterCountsUnlessItIsTooOld() {
        EntryVersion old = new EntryVersion(9, VersionClock.order(1_000), (byte) 1);
        EntryVersion soon = new EntryVersion(3, VersionClock.order(1_050), (byte) 2);
        EntryVersion late = new EntryVersion(3, VersionClock.order(1_051), (byte) 2);

        assertEquals(old, EntryVersion.newerRemoval(old, soon, 50));
        assertEquals(old, EntryVersion.newerRemoval(soon, old, 50));
        assertEquals(late, EntryVersion.newerRemoval(old, late, 50));
        assertEquals(late, EntryVersion.newerRemoval(late, old, 50));
        assertEquals(old, EntryVersion.newerRemoval(null, old, 50));
        assertEquals(old, EntryVersion.newerRemoval(old, null, 50));
    }

    @Test
    void theRankOfAStoredRemovalEndsWithItsRule() {
        AtomicReference<byte[]> stored = new AtomicReference<>();
        EntryVersion removal = new EntryVersion(9, 5, (byte) 1);

        process(stored, new TombstoneChange(removal, "field a", 50));
        assertEquals(9, TombstoneChange.decoded(stored.get(), "field a").rank);
        assertEquals(WriteRank.NONE, TombstoneChange.decoded(stored.get(), "").rank);
        process(stored, new TombstoneChange(new EntryVersion(8, 6, (byte) 1), "field a", 50));
        assertEquals(removal, TombstoneChange.decoded(stored.get(), "field a"));
        process(stored, new TombstoneChange(new EntryVersion(8, 6, (byte) 1), "field b", 50));
        assertEquals(8, TombstoneChange.decoded(stored.get(), "field b").rank);
    }

    @SuppressWarnings("unchecked")
    private static void process(AtomicReference<byte[]> stored, TombstoneChange change) {
        change.process((MutableEntry<Object, byte[]>) Proxy.newProxyInstance(
                MutableEntry.class.getClassLoader(),
                new Class<?>[] {MutableEntry.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("setValue")) stored.set((byte[]) arguments[0]);

                    return method.getName().equals("getValue") ? stored.get() : null;
                }));
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
