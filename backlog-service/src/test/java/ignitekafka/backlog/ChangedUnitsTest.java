package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCompute;
import org.apache.ignite.lang.IgniteFuture;
import org.junit.jupiter.api.Test;

/** Units that have changed since the last call of {@link BacklogService#changed}. */
class ChangedUnitsTest extends SharedClusterTest {
    /** Releases the busy threads of a node. */
    private static final CountDownLatch IDLE = new CountDownLatch(1);

    @Test
    void returnsTheUnitsThatHaveChanged() throws Exception {
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

        for (int key = 0; key < 20; key++) { // with primaries on both nodes
            cache.put(key, key);
            written.add(units.get(cluster.node(0).affinity("a").partition(key)));
        }

        service().barrier("c");
        assertEquals(written, reader.changed(service()));
        assertEquals(Set.of(), other.changed(service()));

        // Backups check after two seconds that their changes are written; neither this nor an acknowledgement counts.
        new TestReader(cluster.node(0), "c", "a").drain(service());
        TimeUnit.MILLISECONDS.sleep(2_500);
        assertEquals(Set.of(), reader.changed(service()));

        service().mark("c", TestReader.bytes(units.subList(3, 5)));
        assertEquals(Set.copyOf(units.subList(3, 5)), reader.changed(service()));
    }

    @Test
    void anyUnitMayHaveChangedAfterAChangeOfCachesOrCapture() throws Exception {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        assertNull(reader.changed(service()));
        assertEquals(Set.of(), reader.changed(service()));
        cache("b");
        assertNull(reader.changed(service()), "caches have changed");
        assertEquals(Set.of(), reader.changed(service()));
        service().stop("c", false);
        service().start("c", FAST, new String[] {"a"});
        assertNull(reader.changed(service()), "the capture is new");

        BacklogException refused =
                assertThrows(BacklogException.class, () -> service().changed("c", new byte[17]));

        assertEquals(BacklogException.Code.MALFORMED, refused.code());
    }

    @Test
    void anyUnitMayHaveChangedIfANodeDoesNotAnswer() {
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
        assertNull(reader.changed(service()), "no position is known");
        assertEquals(Set.of(), reader.changed(service()));
    }
}
