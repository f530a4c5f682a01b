package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.ignite.IgniteCache;
import org.junit.jupiter.api.Test;

/** A flush interval of 0: every change wakes the thread that writes. */
class FlushTest extends SharedClusterTest {
    private static final Map<String, String> AT_ONCE = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "0");
    private static final int FAILURES = 3;

    @Test
    void everyChangeIsReadOnce() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", AT_ONCE, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        for (int i = 0; i < 200; i++) cache.put(i % 20, i);

        TestCluster.await(() -> read(reader) == 200, "all changes, without a barrier");
        assertEquals(TestCluster.content(cache), reader.state);

        // A backup may look for a change after its chunk is removed and before it counts as sent, and puts it back.
        reader.drain(service());
        assertEquals(200, reader.read, "changes that the reader has not seen before");
    }

    @Test
    void changesDoNotShortenThePauseAfterAFailedWrite() {
        IgniteCache<Object, Object> cache = cache("a");
        List<Long> failures = new CopyOnWriteArrayList<>();
        Handler handler = failuresOfTheFirstNode(failures);

        service().start("c", AT_ONCE, new String[] {"a"});
        cluster.node(0).destroyCache("kafka-connect-backlog-c");
        Logger.getLogger("").addHandler(handler);

        try {
            long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);

            for (int i = 0; failures.size() < FAILURES && System.nanoTime() < until; i++) cache.put(i % 20, i);

            assertTrue(failures.size() >= FAILURES, "failed writes within five minutes: " + failures.size());
        } finally {
            Logger.getLogger("").removeHandler(handler);
        }

        long pause = TimeUnit.NANOSECONDS.toMillis(failures.get(FAILURES - 1) - failures.get(0)) / (FAILURES - 1);

        assertTrue(pause >= NodeCapture.RETRY_MS, "a write failed again after " + pause + " ms");
    }

    private static long read(TestReader reader) {
        try {
            reader.readOnce(service(), 1 << 20, true);
        } catch (Exception e) {
            throw new AssertionError(e);
        }

        return reader.read;
    }

    /** Notes the time of each failed write of the first node. */
    private static Handler failuresOfTheFirstNode(List<Long> times) {
        String thread = "backlog-c-" + cluster.node(0).name();

        return new Handler() {
            @Override
            public void publish(LogRecord message) {
                if (Thread.currentThread().getName().equals(thread)
                        && message.getMessage().contains("could not be written; retrying"))
                    times.add(System.nanoTime());
            }

            @Override
            public void flush() {
                // Nothing is held.
            }

            @Override
            public void close() {
                // Nothing is held.
            }
        };
    }
}
