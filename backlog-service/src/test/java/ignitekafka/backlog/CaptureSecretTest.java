package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Secrets of captures, and limits of requests. */
class CaptureSecretTest extends SharedClusterTest {
    private static final String SECRET = "a-secret-of-more-than-22-characters";

    private static final String OTHER = "another-secret-of-many-characters";

    @Test
    void markAndSecretSurviveARestartOfTheWholeCluster(@TempDir Path directory) throws Exception {
        try (TestCluster persistent = new TestCluster(directory).persistent().start(1)) {
            persistent.node(0).createCache(TestCluster.cache("a", 0));
            persistent.service().start("c", FAST, new String[] {"a"}, SECRET);
            persistent.node(0).cache("a").put(1, 1);
            persistent.service().barrier("c");
            persistent.stop();
            persistent.start(1);

            GridKernalContext ctx = ((IgniteEx) persistent.node(0)).context();

            assertTrue(BacklogCache.isMarked(ctx, "kafka-connect-backlog-c"));
            assertCode("FORBIDDEN", () -> persistent.service().stop("c", true));
            persistent.service().start("c", FAST, new String[] {"a"}, SECRET);
            assertEquals(
                    1, new TestReader(persistent.node(0), "c", "a").readOnce(persistent.service(), 1 << 20, false));
            assertEquals(
                    "kafka-connect-backlog-c",
                    persistent.service().stop("c", true, SECRET).get("cache"));
        }
    }

    @Test
    void callsThatWriteNeedTheSecret() throws Exception {
        cache("a");
        service().start("c", FAST, new String[] {"a"}, SECRET);
        cache("a").put(1, 1);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        byte[] unit = TestReader.bytes(reader.units(service()));

        assertEquals(1, reader.readOnce(afterBarrier("c"), 1 << 20, false));

        for (String wrong : new String[] {null, OTHER}) {
            assertCode("FORBIDDEN", () -> service().start("c", FAST, new String[] {"a"}, wrong));
            assertCode("FORBIDDEN", () -> service().update("c", new String[0], wrong));
            assertCode("FORBIDDEN", () -> service().acknowledge("c", new byte[0], wrong));
            assertCode("FORBIDDEN", () -> service().clear("c", new byte[0], wrong));
            assertCode("FORBIDDEN", () -> service().mark("c", unit, wrong));
            assertCode("FORBIDDEN", () -> service().stop("c", true, wrong));
        }

        try (IgniteClient client = cluster.thinClient()) {
            BacklogService thin = client.services().serviceProxy(BacklogService.NAME, BacklogService.class);

            assertEquals(BacklogService.CONTRACT, thin.version());
            assertTrue(assertThrows(ClientException.class, () -> thin.stop("c", true))
                    .getMessage()
                    .contains("BACKLOG/FORBIDDEN: "));
            thin.mark("c", unit, SECRET);
        }

        assertEquals(2, service().start("c", FAST, new String[] {"a"}, SECRET).get("registered"));
        assertEquals(
                "kafka-connect-backlog-c", service().stop("c", true, SECRET).get("cache"));
    }

    @Test
    void theClusterDoesNotStoreTheSecret() {
        cache("a");
        service().start("c", FAST, new String[] {"a"}, SECRET);
        assertTrue(!plugin().registry().get("c").asMap().toString().contains(SECRET));
        assertTrue(!String.valueOf(service().status("c"))
                .contains(plugin().registry().get("c").secretDigest()));
    }

    @Test
    void nobodyAddsASecretToARunningCaptureOfOthers() {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        String message = assertCode("FORBIDDEN", () -> service().start("c", FAST, new String[] {"a"}, SECRET));

        assertTrue(message.contains("runs without a secret"), message);
        service().start("c", FAST, new String[] {"a"});
        service().mark("c", new byte[0]);
        service().stop("c", true);
        service().start("c", FAST, new String[] {"a"}, SECRET);
        assertCode("FORBIDDEN", () -> service().mark("c", new byte[0]));
        assertCode("FORBIDDEN", () -> service().start("c", FAST, new String[] {"a"}, OTHER));
        assertCode("MALFORMED", () -> service().start("d", FAST, new String[] {"a"}, "short"));
    }

    @Test
    void anAdministratorEndsACaptureWithoutItsSecret() {
        cache("a");
        service().start("c", FAST, new String[] {"a"}, SECRET);
        assertEquals("kafka-connect-backlog-c", service().forceStop("c", true).get("cache"));
        assertEquals(0, service().connectors().length);
    }

    @Test
    void requestsAreBounded() {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        byte[] large = new byte[Limits.bytes() + Unit.BYTES];

        assertTrue(Limits.bytes() <= 64 << 20
                && Limits.bytes() <= Runtime.getRuntime().maxMemory() / 16);
        assertCode("MALFORMED", () -> service().read("c", large, 1));
        assertCode("MALFORMED", () -> service().acknowledge("c", large));
        assertCode("MALFORMED", () -> service().lookup("c", "a", large));
        assertCode("MALFORMED", () -> service().changed("c", large));
    }
}
