package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests on two nodes in memory that all subclasses share; each test removes its captures and caches. */
abstract class SharedClusterTest {
    static final Map<String, String> FAST = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "20");

    @RegisterExtension
    static final BeforeAllCallback STARTER = SharedClusterTest::start;

    static TestCluster cluster;

    /** Starts the nodes before the first class; JUnit closes them after the last. */
    private static void start(ExtensionContext context) {
        cluster = context.getRoot()
                .getStore(ExtensionContext.Namespace.GLOBAL)
                .getOrComputeIfAbsent("cluster", key -> new TestCluster(directory()).start(2), TestCluster.class);
    }

    private static Path directory() {
        try {
            return Files.createTempDirectory(Path.of("").toAbsolutePath(), "shared-cluster");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @AfterEach
    void clean() {
        for (String connector : service().connectors()) service().forceStop(connector, true);

        cluster.node(0).destroyCaches(cluster.node(0).cacheNames());
    }

    static BacklogService service() {
        return cluster.service();
    }

    /** The service once it has written everything captured so far. */
    static BacklogService afterBarrier(String connector) {
        service().barrier(connector);

        return service();
    }

    static BacklogPlugin plugin() {
        return BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());
    }

    static IgniteCache<Object, Object> cache(String name) {
        return cluster.node(0).getOrCreateCache(TestCluster.cache(name, 1));
    }

    /** Puts keys from {@code from} up to before {@code to} in one call, with values of so many bytes. */
    static void putAll(IgniteCache<Object, Object> cache, int from, int to, int bytes) {
        Map<Integer, byte[]> values = new TreeMap<>();

        for (int key = from; key < to; key++) values.put(key, new byte[bytes]);

        cache.putAll(values);
    }

    /** Asserts that a call fails with a code; returns the message. */
    static String assertCode(String code, Runnable call) {
        Throwable error = assertThrows(RuntimeException.class, call::run);

        assertTrue(error.getMessage().contains("BACKLOG/" + code + ": "), error.getMessage());

        return error.getMessage();
    }
}
