package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.cache.Cache;
import javax.cache.expiry.CreatedExpiryPolicy;
import javax.cache.expiry.Duration;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCompute;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.lang.IgniteFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the service does while all nodes live. */
class BacklogServiceTest {
    private static final Map<String, String> FAST = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "20");

    /** Ends what keeps a node's threads busy. */
    private static final CountDownLatch IDLE = new CountDownLatch(1);

    private static TestCluster cluster;

    @BeforeAll
    static void start(@TempDir Path directory) {
        cluster = new TestCluster(directory).start(2);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @AfterEach
    void clean() {
        for (String connector : service().connectors()) service().stop(connector, true);

        cluster.node(0).destroyCaches(cluster.node(0).cacheNames());
    }

    private static BacklogService service() {
        return cluster.service();
    }

    private static IgniteCache<Object, Object> cache(String name) {
        return cluster.node(0).getOrCreateCache(TestCluster.cache(name, 1));
    }

    static Map<Object, Object> content(IgniteCache<Object, Object> cache) {
        Map<Object, Object> content = new TreeMap<>();

        for (Cache.Entry<Object, Object> entry : cache.query(new ScanQuery<>()))
            content.put(entry.getKey(), entry.getValue());

        return content;
    }

    @Test
    void capturesEachChangeOnceAndForgetsWhatIsAcknowledged() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        cache.put(0, -1);
        assertEquals(2, service().start("c", FAST, new String[] {"a"}).get("registered"));

        for (int i = 0; i < 500; i++) cache.put(i % 100, i);

        for (int i = 0; i < 10; i++) cache.remove(i);

        cache.remove(10_000);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        service().barrier("c");
        assertEquals(510, reader.pass(service(), 1 << 20, false));
        assertEquals(510, reader.pass(service(), 1 << 20, true));
        assertEquals(510, reader.read);
        assertEquals(0, reader.pass(service(), 1 << 20, true));
        assertEquals(content(cache), reader.fold);
        assertEquals(0, reader.stepsBack);

        // Backups hold theirs for two seconds, and must not put them back.
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(0, reader.pass(service(), 1 << 20, true));
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void namesTheUnitsThatHaveChanged() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        cache("b");
        service().start("c", FAST, new String[] {"a", "b"});
        service().start("other", FAST, new String[] {"b"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        TestReader other = new TestReader(cluster.node(0), "other", "b");
        List<Unit> units = reader.units(service());

        assertNull(reader.changed(service()));
        assertNull(other.changed(service()));
        assertEquals(Set.of(), reader.changed(service()));

        Set<Unit> written = new HashSet<>();

        for (int key = 0; key < 20; key++) { // of either node
            cache.put(key, key);
            written.add(units.get(cluster.node(0).affinity("a").partition(key)));
        }

        service().barrier("c");
        assertEquals(written, reader.changed(service()));
        assertEquals(Set.of(), other.changed(service()));

        // Backups hold theirs for two seconds; they find it written, which is no change. Nor is an acknowledgement.
        new TestReader(cluster.node(0), "c", "a").drain(service());
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(Set.of(), reader.changed(service()));

        service().mark("c", TestReader.bytes(units.subList(3, 5)));
        assertEquals(Set.copyOf(units.subList(3, 5)), reader.changed(service()));
    }

    @Test
    void anyUnitMayHaveChangedWhereTheNodesCannotTell() throws Exception {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        assertNull(reader.changed(service()));
        assertEquals(Set.of(), reader.changed(service()));
        cache("b");
        assertNull(reader.changed(service()), "owners and caches are others");
        assertEquals(Set.of(), reader.changed(service()));
        service().stop("c", false);
        service().start("c", FAST, new String[] {"a"});
        assertNull(reader.changed(service()), "the capture is another");

        BacklogException refused =
                assertThrows(BacklogException.class, () -> service().changed("c", new byte[17]));

        assertEquals(BacklogException.Code.MALFORMED, refused.code());
    }

    @Test
    void anyUnitMayHaveChangedWhereANodeDoesNotAnswer() {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Ignite other = cluster.node(1);
        IgniteCompute compute = cluster.node(0)
                .compute(cluster.node(0).cluster().forNode(other.cluster().localNode()));
        List<IgniteFuture<Boolean>> busy = new ArrayList<>();

        assertNull(reader.changed(service()));
        assertEquals(Set.of(), reader.changed(service()));

        for (int thread = 0; thread < other.configuration().getPublicThreadPoolSize(); thread++)
            busy.add(compute.callAsync(() -> IDLE.await(5, TimeUnit.MINUTES)));

        assertNull(reader.changed(service()));
        IDLE.countDown();
        busy.forEach(thread -> assertTrue(thread.get()));
        assertNull(reader.changed(service()), "no place is known");
        assertEquals(Set.of(), reader.changed(service()));
    }

    @Test
    void readsInBoundedBatches() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        for (int i = 0; i < 20_000; i += 1_000) {
            Map<Object, Object> some = new TreeMap<>();

            for (int k = i; k < i + 1_000; k++) some.put(k % 7_000, k);

            cache.putAll(some);
        }

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.drain(service());
        assertEquals(20_000, reader.read);
        assertEquals(content(cache), reader.fold);
        assertEquals(0, reader.stepsBack);
        assertEquals(8, service().units("c").length);
    }

    @Test
    void keepsALateChunkThatAnAcknowledgementDidNotSee() throws Exception {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit unit = reader.units(service()).get(0);
        BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());
        ConnectorSettings settings = plugin.registry().get("c").settings;
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(settings);
        BacklogWriter writer = new BacklogWriter(plugin, settings);
        UnitBuffer buffer = new UnitBuffer(unit, "a");

        writer.write(batch(buffer, 3, 40));

        // The acknowledgement of number 3: all of it but the end.
        UnitRecord record = UnitRecord.decode(backlog.get(unit.record()));

        assertEquals(2, reader.pass(service(), 1 << 20, false));
        backlog.remove(unit.chunk(0));
        writer.write(batch(buffer, 5, 41));
        backlog.invoke(unit.record(), RecordChange.acknowledge(new Ranges(), 1, record.turn));

        assertEquals(3, reader.pass(service(), 1 << 20, true));
        assertEquals(4, reader.read);
        assertEquals(0, reader.pass(service(), 1 << 20, true));
        assertEquals(1, UnitRecord.decode(backlog.get(unit.record())).low);
    }

    /** Changes with these numbers, of keys and to values of the same numbers. */
    private static List<UnitBuffer.Batch> batch(UnitBuffer buffer, int... numbers) {
        return List.of(new UnitBuffer.Batch(
                buffer,
                Arrays.stream(numbers)
                        .mapToObj(number -> {
                            byte[] bytes = Chunk.buffer(new byte[5])
                                    .put((byte) 3)
                                    .putInt(number)
                                    .array();

                            return new Change(number, 0, Change.CREATED, bytes, bytes);
                        })
                        .collect(Collectors.toList()),
                new HashMap<>(),
                0));
    }

    @Test
    void nothingOlderComesAfterAClear() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", Map.of(ConnectorSettings.FLUSH_FREQUENCY, "0"), new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit unit = reader.units(service()).get(cluster.node(0).affinity("a").partition(1));
        byte[] cleared =
                Chunk.buffer(new byte[24]).put(TestReader.bytes(List.of(unit))).array();

        for (int round = 0; round < 300; round++) {
            int first = 100 * round;
            CompletableFuture<Void> puts = CompletableFuture.runAsync(() -> {
                for (int value = first; value < first + 20; value++) cache.put(1, value);
            });

            while (!cache.containsKey(1) || (int) cache.get(1) < first + round % 20) Thread.onSpinWait();

            service().clear("c", cleared);

            Object scanned = cache.get(1);

            puts.join();
            reader.fold.clear();
            reader.drain(service());
            assertEquals(cache.get(1), reader.fold.getOrDefault(1, scanned), "round " + round);
        }
    }

    @Test
    void answersAreBoundedWhateverIsWaiting() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        for (int from = 0; from < 12_000; from += 1_000) {
            putAll(cache, from, from + 1_000, 3_000);
            service().barrier("c");
        }

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        int length = service().read("c", TestReader.bytes(reader.units(service())), 1).length;

        assertTrue(length < 128 * Chunk.NUMBERS * 4_000, length + " bytes");
        reader.drain(service());
        assertEquals(12_000, reader.read);
        assertTrue(reader.marks.isEmpty());
    }

    /** Puts keys from {@code from} up to before {@code to}, each with so many bytes, in one call. */
    private static void putAll(IgniteCache<Object, Object> cache, int from, int to, int bytes) {
        Map<Integer, byte[]> values = new TreeMap<>();

        for (int key = from; key < to; key++) values.put(key, new byte[bytes]);

        cache.putAll(values);
    }

    @Test
    void connectorsHaveTheirOwnBacklog() throws Exception {
        IgniteCache<Object, Object> a = cache("a");
        IgniteCache<Object, Object> b = cache("b");

        service().start("one", FAST, new String[] {"a"});
        service().start("two", FAST, new String[] {"a", "b"});
        a.put(1, 1);
        b.put(2, 2);

        TestReader oneA = new TestReader(cluster.node(0), "one", "a");
        TestReader twoA = new TestReader(cluster.node(0), "two", "a");
        TestReader twoB = new TestReader(cluster.node(0), "two", "b");

        oneA.drain(service());

        assertEquals("kafka-connect-backlog-one", service().stop("one", true).get("cache"));
        twoA.drain(service());
        twoB.drain(service());
        assertEquals(Map.of(1, 1), oneA.fold);
        assertEquals(Map.of(1, 1), twoA.fold);
        assertEquals(Map.of(2, 2), twoB.fold);
        assertNull(service().stop("one", true).get("cache"));
        assertTrue(cluster.node(0).cacheNames().contains("kafka-connect-backlog-two"));
    }

    @Test
    void cachesComeAndGoAndComeBackAsOthers() throws Exception {
        IgniteCache<Object, Object> a = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache("b");
        service().update("c", new String[] {"a", "b"});
        cache("b").put(1, 1);

        TestReader b = new TestReader(cluster.node(0), "c", "b");

        b.drain(service());
        assertEquals(Map.of(1, 1), b.fold);

        long incarnation = TestReader.incarnation(service(), "c", "b");

        cache("b").put(2, 2);
        cluster.node(0).destroyCache("b");
        cache("b").put(3, 3);
        service().update("c", new String[] {"a", "b"});
        cache("b").put(4, 4);
        assertNotEquals(incarnation, TestReader.incarnation(service(), "c", "b"));
        b.drain(service());
        assertEquals(Map.of(1, 1, 4, 4), b.fold);

        cache("b").put(5, 5);
        service().barrier("c");
        cluster.node(0).destroyCache("b");
        cluster.node(0).createCache(TestCluster.cache("b", 1).setAffinity(new RendezvousAffinityFunction(false, 4)));
        service().update("c", new String[] {"a", "b"});
        assertEquals(
                1 + 8 + 4,
                cluster.node(0).cache("kafka-connect-backlog-c").size(),
                "the capture's mark, and the units of a and b");
        cluster.node(0).cache("b").put(6, 6);
        service().barrier("c");
        cluster.node(0).destroyCache("b");
        service().update("c", new String[] {"a"});
        assertEquals(
                1 + 8,
                cluster.node(0).cache("kafka-connect-backlog-c").size(),
                "the capture's mark, and the units of a");
        cache("b");
        service().update("c", new String[] {"b"});
        a.put(1, 1);
        service().barrier("c");
        assertEquals(8, service().units("c").length);
        assertFalse(service().status("c").containsKey("incarnation.a"));
    }

    @Test
    void binaryObjectsKeepTheirBytes() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache.withKeepBinary()
                .put(
                        "key",
                        cluster.node(0).binary().builder("T").setField("f", 5).build());
        service().barrier("c");

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.pass(service(), 1, true);
        assertEquals(cache.withKeepBinary().get("key"), reader.fold.get("key"));
    }

    @Test
    void looksKeysUpOnTheirPrimaries() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        ByteBuffer keys = Chunk.buffer(new byte[100 * 9]);

        for (int i = 0; i < 100; i++) {
            // An Integer key: type code 3, four bytes.
            keys.putInt(5).put((byte) 3).putInt(i);

            if (i % 2 == 0) cache.put(i, 1_000 + i);
        }

        ByteBuffer found = Chunk.buffer(service().lookup("c", "a", keys.array()));

        assertEquals(100, found.getInt());

        for (int i = 0; i < 100; i++) assertEquals(i % 2 == 0 ? 5 : -1, found.getInt());

        for (int i = 0; i < 100; i += 2) {
            assertEquals(3, found.get());
            assertEquals(1_000 + i, found.getInt());
        }

        assertFalse(found.hasRemaining());

        ByteBuffer places = Chunk.buffer(service().locate("c", "a", keys.array()));

        assertEquals(100, places.getInt());

        for (int i = 0; i < 100; i++)
            assertEquals(cache.unwrap(Ignite.class).affinity("a").partition(i), places.getInt());

        for (int i = 0; i < 100; i++) assertEquals(i % 2 == 0 ? 1 : 0, places.get());

        assertFalse(places.hasRemaining());
        assertCode("UNKNOWN_CACHE", () -> service().locate("c", "b", new byte[0]));
        assertCode("UNKNOWN_CACHE", () -> service().lookup("c", "b", new byte[0]));
        assertCode("MALFORMED", () -> service().lookup("c", "a", new byte[] {9, 0, 0, 0}));
    }

    @Test
    void tellsExpiredKeys() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache.withExpiryPolicy(new CreatedExpiryPolicy(new Duration(TimeUnit.MILLISECONDS, 100)))
                .put(1, 1);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        TestCluster.await(() -> !cache.containsKey(1), "the expiry");
        TestCluster.await(
                () -> {
                    try {
                        service().barrier("c");
                        reader.pass(service(), 1 << 20, true);
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }

                    return reader.expired.contains(1);
                },
                "the expired key");
        assertEquals(1, reader.read);
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(0, reader.pass(service(), 1 << 20, true));

        // The acknowledgement of an expired key, which has no number, leaves the unit's record as it is.
        assertTrue(reader.marks.isEmpty());
        cache.put(1, 2);
        service().barrier("c");
        assertEquals(1, reader.pass(service(), 1 << 20, true));
    }

    @Test
    void givesUnitsUpBeforeTheRegionIsFullHoweverFastItIsFilled() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", Map.of(ConnectorSettings.FLUSH_FREQUENCY, "2000"), new String[] {"a"});

        for (int from = 0; from < 60_000; from += 4_000) putAll(cache, from, from + 4_000, 1_000);

        service().barrier("c");

        for (String line : (String[]) service().status("c").get("nodes"))
            assertTrue(Double.parseDouble(line.substring(line.indexOf("fill=") + 5)) < 0.9, line);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.pass(service(), 1 << 20, false);
        assertFalse(reader.marks.isEmpty());
        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.FULL));
    }

    @Test
    void givesUnitsUpWhenTheBufferIsFullAndTakesThemAgain() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service()
                .start(
                        "c",
                        Map.of(ConnectorSettings.FLUSH_FREQUENCY, "60000", ConnectorSettings.BUFFER_ENTRIES, "100"),
                        new String[] {"a"});

        for (int i = 0; i < 1_000; i++) cache.put(i, i);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        service().barrier("c");
        reader.pass(service(), 1 << 20, true);
        assertFalse(reader.marks.isEmpty());
        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.FULL));

        ByteBuffer clear = Chunk.buffer(new byte[24 * reader.marks.size()]);

        reader.units(service()).stream()
                .filter(unit -> reader.marks.containsKey(unit.partition))
                .forEach(unit -> clear.putInt(unit.cacheId)
                        .putInt(unit.partition)
                        .putLong(unit.incarnation)
                        .putLong(reader.markNumbers.get(unit.partition)));
        service().clear("c", clear.array());

        for (int i = 0; i < 10; i++) cache.put(i, -i);

        service().barrier("c");
        reader.pass(service(), 1 << 20, true);
        assertTrue(reader.marks.isEmpty());

        for (int i = 1; i < 10; i++) assertEquals(-i, reader.fold.get(i));
    }

    @Test
    void marksWhatIsAskedForUntilItIsCleared() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache.put(1, 1);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit asked = reader.units(service()).get(cluster.node(0).affinity("a").partition(1));
        Unit other = new Unit(asked.cacheId, asked.partition, asked.incarnation - 1);
        Unit beyond = new Unit(asked.cacheId, 8, asked.incarnation);

        assertCode("UNKNOWN_CACHE", () -> service().mark("c", TestReader.bytes(List.of(other))));
        assertCode("MALFORMED", () -> service().mark("c", TestReader.bytes(List.of(beyond))));
        service().mark("c", TestReader.bytes(List.of(asked)));
        cache.put(1, 2);
        service().barrier("c");
        assertEquals(2, reader.pass(service(), 1 << 20, true));
        assertEquals(Map.of(asked.partition, UnitRecord.ASKED), reader.marks);
        assertEquals(Map.of(1, 2), reader.fold);

        ByteBuffer clear = Chunk.buffer(new byte[24]).put(TestReader.bytes(List.of(asked)));

        service()
                .clear(
                        "c",
                        clear.putLong(reader.markNumbers.get(asked.partition)).array());
        reader.pass(service(), 1 << 20, true);
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void answersThinClients() {
        cache("a").put(1, 1);

        try (IgniteClient client = cluster.thinClient()) {
            BacklogService thin = client.services().serviceProxy(BacklogService.NAME, BacklogService.class);

            assertEquals(2, thin.start("c", FAST, new String[] {"a"}).get("registered"));
            cache("a").put(2, 2);
            thin.barrier("c");
            assertTrue(thin.units("c").length > 8);
            assertTrue(Arrays.stream(thin.caches()).anyMatch(line -> line.startsWith("a\t" + "a".hashCode() + '\t')));
            assertEquals(2, ((Object[]) thin.status("c").get("nodes")).length);

            assertTrue(assertThrows(ClientException.class, () -> thin.units("x"))
                    .getMessage()
                    .contains("BACKLOG/UNKNOWN_CONNECTOR: "));
        }
    }

    @Test
    void refusesWhatIsWrong() {
        cache("a");

        assertCode("MALFORMED", () -> service().start("no name", FAST, new String[] {"a"}));
        assertCode("MALFORMED", () -> service().start("c", Map.of("backlogFlushFreq", "soon"), new String[] {"a"}));
        assertCode("MALFORMED", () -> service().start("c", Map.of("flush", "1"), new String[] {"a"}));
        assertCode("MALFORMED", () -> service().start("c", FAST, null));
        assertCode("UNKNOWN_CACHE", () -> service().start("c", FAST, new String[] {"b"}));
        assertCode("MISSING_REGION", () -> service()
                .start("c", Map.of("backlogMemoryRegionName", "none"), new String[] {"a"}));
        assertCode("UNKNOWN_CONNECTOR", () -> service().barrier("c"));
        assertEquals(0, service().connectors().length);

        service().start("c", FAST, new String[] {"a"});
        service().start("c", FAST, new String[] {"a"});
        assertCode("OTHER_SETTINGS", () -> service().start("c", Map.of(), new String[] {"a"}));
        assertCode("OTHER_OWNER", () -> service()
                .start("c", Map.of(ConnectorSettings.OWNER, "another"), new String[] {"a"}));
        assertCode("MALFORMED", () -> service().read("c", new byte[3], 1));
        assertCode("MALFORMED", () -> service().read("c", new byte[0], 0));
        assertCode("MALFORMED", () -> service().acknowledge("c", null));
    }

    private static void assertCode(String code, Runnable call) {
        Throwable error = assertThrows(RuntimeException.class, call::run);

        assertTrue(error.getMessage().contains("BACKLOG/" + code + ": "), error.getMessage());
    }
}
