package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Map;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.junit.jupiter.api.Test;

/** Calls of the service by thin clients, and refused calls. */
class BacklogServiceTest extends SharedClusterTest {
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
    void refusesInvalidCalls() {
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

    @Test
    void refusesACaptureWithoutCaches() {
        String message = assertCode("MALFORMED", () -> service().start("c", FAST, new String[0]));

        assertTrue(message.contains("at least one cache"), message);
        assertEquals(0, service().connectors().length);
        assertEquals(0, cluster.node(0).cacheNames().size());
    }

    @Test
    void refusesSettingsBeyondTheLimitsOfTheNodes() {
        cache("a");

        for (Map.Entry<String, String> beyond : Map.of(
                        ConnectorSettings.BUFFER_ENTRIES, "9223372036854775807",
                        ConnectorSettings.BUFFER_BYTES, "9223372036854775807",
                        ConnectorSettings.FLUSH_FREQUENCY, "3600000",
                        ConnectorSettings.REGION_NAME, "default")
                .entrySet()) {
            String message = assertCode("BEYOND_LIMIT", () -> service()
                    .start("c", Map.of(beyond.getKey(), beyond.getValue()), new String[] {"a"}));

            assertTrue(message.contains(beyond.getKey() + " is '" + beyond.getValue() + "'"), message);
            assertTrue(message.contains("IGNITE_KAFKA_BACKLOG_"), message);
        }

        assertEquals(0, service().connectors().length);
        assertEquals(1, cluster.node(0).cacheNames().size());
    }
}
