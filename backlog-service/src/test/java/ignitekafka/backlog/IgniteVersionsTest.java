package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgniteProductVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Versions of Ignite on which a capture may begin. */
class IgniteVersionsTest {
    @ParameterizedTest
    @ValueSource(strings = {"2.9.0", "2.9.1", "2.12.0", "2.17.0", "2.17.5"})
    void takesTheVersionsOfTheRange(String version) {
        IgniteVersions.check(List.of(node("a", version)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"2.8.1", "2.18.0", "3.0.0", "8.9.20", "1.10.0"})
    void refusesOthersWithTheRangeAndTheNode(String version) {
        BacklogException refused = assertThrows(
                BacklogException.class, () -> IgniteVersions.check(List.of(node("a", "2.17.0"), node("b", version))));

        assertEquals(BacklogException.Code.UNSUPPORTED_VERSION, refused.code());
        assertTrue(refused.getMessage().contains("2.9 to 2.17; node b has " + version), refused.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"2.9.1", "2.14.0", "2.18.0"})
    void refusesToShareCachesOnOthers(String version) {
        IgniteException refused = assertThrows(
                IgniteException.class,
                () -> IgniteVersions.checkActiveActive(IgniteProductVersion.fromString(version)));

        assertTrue(refused.getMessage().contains("Ignite " + version), refused.getMessage());
        assertTrue(refused.getMessage().contains("2.15 to 2.17"), refused.getMessage());
        IgniteVersions.checkActiveActive(IgniteProductVersion.fromString("2.15.0"));
        IgniteVersions.checkActiveActive(IgniteProductVersion.fromString("2.17.0"));
    }

    /** Ignite 2.11 stops such a node: "Security context isn't certain". */
    @Test
    void configuresNoServiceWhereItWouldStopTheNode() {
        IgniteConfiguration open = new IgniteConfiguration();
        IgniteConfiguration users = new IgniteConfiguration().setAuthenticationEnabled(true);
        IgniteProductVersion stopped = IgniteProductVersion.fromString("2.11.1");

        assertFalse(IgniteVersions.mayConfigureService(stopped, users));
        assertTrue(IgniteVersions.mayConfigureService(stopped, open));
        assertTrue(IgniteVersions.mayConfigureService(IgniteProductVersion.fromString("2.12.0"), users));
        assertTrue(IgniteVersions.mayConfigureService(IgniteProductVersion.fromString("2.10.0"), users));
    }

    private static ClusterNode node(String id, String version) {
        return (ClusterNode) Proxy.newProxyInstance(
                IgniteVersionsTest.class.getClassLoader(),
                new Class<?>[] {ClusterNode.class},
                (proxy, method, arguments) ->
                        method.getName().equals("version") ? IgniteProductVersion.fromString(version) : id);
    }
}
