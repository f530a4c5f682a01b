package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.ignite.client.ClientAuthorizationException;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.security.OperationSecurityContext;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecuritySubjectType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Permissions of users of thin clients, with a security plugin and with Ignite's own authentication. */
class BacklogRightsTest {
    private static final String SECRET = "a-secret-of-more-than-22-characters";
    private static final Map<String, String> FAST = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "20");
    private static final Map<String, Set<String>> RIGHTS = Map.of(
            "connector",
                    Set.of("SERVICE_INVOKE", "CACHE_READ:open", create("c"), deploy("c"), create("s"), deploy("s")),
            "stranger", Set.of("SERVICE_INVOKE", "CACHE_READ:closed"),
            "reader", Set.of("SERVICE_INVOKE", "CACHE_READ:open"),
            "creator of caches", Set.of("SERVICE_INVOKE", "CACHE_READ:open", create("r")),
            "administrator", Set.of("SERVICE_INVOKE", "ADMIN_OPS"),
            "reading administrator", Set.of("SERVICE_INVOKE", "ADMIN_OPS", "CACHE_READ:open"));

    private static TestCluster cluster;

    @BeforeAll
    static void start(@TempDir Path directory) {
        cluster = new TestCluster(directory)
                .providers(List.of(BacklogPluginProvider::new, () -> TestSecurity.provider(RIGHTS)))
                .start(2);
        cluster.node(0).createCache(TestCluster.cache("open", 1));
        cluster.node(0).createCache(TestCluster.cache("closed", 1));
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @Test
    void aUserNeedsPermissionToReadACapturedCache() throws Exception {
        try (IgniteClient connector = cluster.thinClient("connector");
                IgniteClient stranger = cluster.thinClient("stranger")) {
            BacklogService mine = service(connector);
            BacklogService theirs = service(stranger);

            // Users need no permissions on tasks, or on the backlog's cache once it is created: nodes use their own.
            assertEquals(2, mine.start("c", FAST, new String[] {"open"}, SECRET).get("registered"));
            cluster.node(0).cache("open").put(1, 1);
            mine.barrier("c");

            TestReader reader = new TestReader(cluster.node(0), "c", "open");
            byte[] units = TestReader.bytes(reader.units(mine));

            assertTrue(mine.read("c", units, 1 << 20).length > 0);
            assertEquals(4, mine.lookup("c", "open", new byte[0]).length);
            assertForbidden("CACHE_READ", () -> mine.start("d", FAST, new String[] {"closed"}, SECRET));
            assertForbidden("CACHE_READ", () -> mine.update("c", new String[] {"open", "closed"}, SECRET));
            assertForbidden("CACHE_READ", () -> theirs.read("c", units, 1 << 20));
            assertForbidden("CACHE_READ", () -> theirs.lookup("c", "open", new byte[0]));
            assertForbidden("CACHE_READ", () -> theirs.locate("c", "open", new byte[0]));
            assertForbidden("CACHE_READ", () -> theirs.entries("open", new byte[0]));
            assertForbidden("CACHE_READ", () -> theirs.activeActive("open"));
            assertEquals(Map.of("cluster", 0), mine.activeActive("open"));
            assertForbidden("secret", () -> theirs.stop("c", true));
            assertThrows(
                    ClientAuthorizationException.class,
                    () -> connector.cache("kafka-connect-backlog-c").get(1));
            assertEquals(1, mine.connectors().length);

            try (IgniteClient administrator = cluster.thinClient("administrator")) {
                assertForbidden("ADMIN_OPS", () -> mine.forceStop("c", true));
                assertEquals(
                        "kafka-connect-backlog-c",
                        service(administrator).forceStop("c", true).get("cache"));
            }
        }
    }

    @Test
    void aUserNeedsPermissionForTheCacheAndTheServiceThatNodesCreate() throws Exception {
        try (IgniteClient connector = cluster.thinClient("connector");
                IgniteClient reader = cluster.thinClient("reader");
                IgniteClient creator = cluster.thinClient("creator of caches")) {
            Map<String, String> elsewhere =
                    Map.of(ConnectorSettings.CACHE_NAME, "orders", ConnectorSettings.FLUSH_FREQUENCY, "20");

            assertForbidden("CACHE_CREATE", () -> service(reader).start("r", FAST, new String[] {"open"}, SECRET));
            assertForbidden(
                    "'orders-c'", () -> service(connector).start("c", elsewhere, new String[] {"open"}, SECRET));
            assertForbidden("SERVICE_DEPLOY", () -> service(creator).start("r", FAST, new String[] {"open"}, SECRET));
            assertEquals(List.of("closed", "open"), caches());
            assertEquals(0, service(reader).connectors().length);

            // What exists needs no permission to create it, but what was lost meanwhile does.
            service(connector).start("c", FAST, new String[] {"open"}, SECRET);
            service(reader).start("c", FAST, new String[] {"open"}, SECRET);
            service(reader).update("c", new String[0], SECRET);
            cluster.node(0).destroyCache("kafka-connect-backlog-c");
            assertForbidden("CACHE_CREATE", () -> service(reader).update("c", new String[] {"open"}, SECRET));
            assertEquals(List.of("closed", "open"), caches());
            service(connector).update("c", new String[] {"open"}, SECRET);
            service(connector).stop("c", true, SECRET);
        }
    }

    private static List<String> caches() {
        return cluster.node(0).cacheNames().stream().sorted().collect(Collectors.toList());
    }

    private static String create(String connector) {
        return "CACHE_CREATE:kafka-connect-backlog-" + connector;
    }

    private static String deploy(String connector) {
        return "SERVICE_DEPLOY:kafka-connect-backlog-service-" + connector;
    }

    @Test
    void onlyAnAdministratorAddsASecretToARunningCapture() throws Exception {
        try (IgniteClient connector = cluster.thinClient("connector");
                IgniteClient administrator = cluster.thinClient("administrator")) {
            BacklogService mine = service(connector);

            mine.start("s", FAST, new String[] {"open"});
            assertForbidden("without a secret", () -> mine.start("s", FAST, new String[] {"open"}, SECRET));
            assertForbidden("CACHE_READ", () -> service(administrator).start("s", FAST, new String[] {"open"}, SECRET));
            mine.mark("s", new byte[0]);

            try (IgniteClient both = cluster.thinClient("reading administrator")) {
                service(both).start("s", FAST, new String[] {"open"}, SECRET);
            }

            assertForbidden("secret", () -> mine.mark("s", new byte[0]));
            mine.stop("s", true, SECRET);
        }
    }

    @Test
    void onlyTheAdministratorOfIgniteEndsACaptureWithoutItsSecret(@TempDir Path directory) throws Exception {
        try (TestCluster authenticated =
                new TestCluster(directory).authentication().start(1)) {
            authenticated.node(0).createCache(TestCluster.cache("a", 0));
            addUser(((IgniteEx) authenticated.node(0)).context(), "somebody");

            try (IgniteClient somebody = authenticated.thinClient("somebody");
                    IgniteClient administrator = authenticated.thinClient("ignite")) {
                assertEquals(
                        1,
                        service(somebody)
                                .start("c", FAST, new String[] {"a"}, SECRET)
                                .get("registered"));
                assertForbidden("'somebody'", () -> service(somebody).forceStop("c", true));
                assertForbidden("secret", () -> service(administrator).stop("c", true));
                assertEquals(
                        "kafka-connect-backlog-c",
                        service(administrator).forceStop("c", true).get("cache"));
            }
        }
    }

    private static void addUser(GridKernalContext ctx, String name) throws Exception {
        AuthenticationContext administrator = new AuthenticationContext();

        administrator.subjectType(SecuritySubjectType.REMOTE_CLIENT);
        administrator.subjectId(UUID.randomUUID());
        administrator.credentials(new SecurityCredentials("ignite", "ignite"));

        OperationSecurityContext acting =
                ctx.security().withContext(ctx.security().authenticate(administrator));

        ctx.security().createUser(name, name.toCharArray());
        acting.close();
    }

    private static BacklogService service(IgniteClient client) {
        return client.services().serviceProxy(BacklogService.NAME, BacklogService.class);
    }

    private static void assertForbidden(String why, Runnable call) {
        String message = assertThrows(ClientException.class, call::run).getMessage();

        assertTrue(message.contains("BACKLOG/FORBIDDEN: ") && message.contains(why), message);
    }
}
