package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.cache.expiry.CreatedExpiryPolicy;
import javax.cache.expiry.Duration;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.junit.jupiter.api.Test;

/** Captures of caches: changes, incarnations and expired keys. */
class CaptureTest extends SharedClusterTest {
    @Test
    void capturesEachChangeOnceUntilItIsAcknowledged() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        cache.put(0, -1);
        assertEquals(2, service().start("c", FAST, new String[] {"a"}).get("registered"));

        for (int i = 0; i < 500; i++) cache.put(i % 100, i);

        for (int i = 0; i < 10; i++) cache.remove(i);

        cache.remove(10_000);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        service().barrier("c");
        assertEquals(510, reader.readOnce(service(), 1 << 20, false));
        assertEquals(510, reader.readOnce(service(), 1 << 20, true));
        assertEquals(510, reader.read);
        assertEquals(0, reader.readOnce(service(), 1 << 20, true));
        assertEquals(TestCluster.content(cache), reader.state);
        assertEquals(0, reader.late + reader.stepsBack);

        // Backups hold changes for two seconds, and must not write acknowledged ones.
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(0, reader.readOnce(service(), 1 << 20, true));
        assertTrue(reader.marks.isEmpty());
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
        assertEquals(Map.of(1, 1), oneA.state);
        assertEquals(Map.of(1, 1), twoA.state);
        assertEquals(Map.of(2, 2), twoB.state);
        assertNull(service().stop("one", true).get("cache"));
        assertTrue(cluster.node(0).cacheNames().contains("kafka-connect-backlog-two"));
    }

    @Test
    void aCacheThatIsCreatedAgainGetsANewIncarnation() throws Exception {
        IgniteCache<Object, Object> a = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache("b");
        service().update("c", new String[] {"a", "b"});
        cache("b").put(1, 1);

        TestReader b = new TestReader(cluster.node(0), "c", "b");

        b.drain(service());
        assertEquals(Map.of(1, 1), b.state);

        long incarnation = TestReader.incarnation(service(), "c", "b");

        cache("b").put(2, 2);
        cluster.node(0).destroyCache("b");
        cache("b").put(3, 3);
        service().update("c", new String[] {"a", "b"});
        cache("b").put(4, 4);
        assertNotEquals(incarnation, TestReader.incarnation(service(), "c", "b"));
        b.drain(service());
        assertEquals(Map.of(1, 1, 4, 4), b.state);
    }

    @Test
    void removesTheUnitsOfCachesThatAreNoLongerCaptured() {
        IgniteCache<Object, Object> a = cache("a");

        cache("b");
        service().start("c", FAST, new String[] {"a", "b"});
        cache("b").put(5, 5);
        service().barrier("c");
        cluster.node(0).destroyCache("b");
        cluster.node(0).createCache(TestCluster.cache("b", 1).setAffinity(new RendezvousAffinityFunction(false, 4)));
        service().update("c", new String[] {"a", "b"});
        assertEquals(
                1 + 8 + 4,
                cluster.node(0).cache("kafka-connect-backlog-c").size(),
                "capture id, and the units of a and b");
        cluster.node(0).cache("b").put(6, 6);
        service().barrier("c");
        cluster.node(0).destroyCache("b");
        service().update("c", new String[] {"a"});
        assertEquals(1 + 8, cluster.node(0).cache("kafka-connect-backlog-c").size(), "capture id, and the units of a");
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

        reader.readOnce(service(), 1, true);
        assertEquals(cache.withKeepBinary().get("key"), reader.state.get("key"));
    }

    @Test
    void capturesExpiredKeys() throws Exception {
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
                        reader.readOnce(service(), 1 << 20, true);
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }

                    return reader.expired.contains(1);
                },
                "the expired key");
        assertEquals(1, reader.read);
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(0, reader.readOnce(service(), 1 << 20, true));

        // The acknowledgement of an expired key, which has no number, does not change the unit's record.
        assertTrue(reader.marks.isEmpty());
        cache.put(1, 2);
        service().barrier("c");
        assertEquals(1, reader.readOnce(service(), 1 << 20, true));
    }
}
