package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNSUPPORTED_VERSION;

import java.lang.reflect.InvocationTargetException;
import java.util.Collection;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.processors.service.LazyServiceConfiguration;
import org.apache.ignite.lang.IgniteProductVersion;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * The versions of Ignite that this jar runs on, and calls of methods whose types differ between them: a call that is
 * compiled with one version does not link with another. All other methods that this package calls are the same in each.
 */
final class IgniteVersions {
    /** The range for messages. */
    static final String RANGE = "2.9 to 2.17";

    /** The range for caches that several clusters write. */
    static final String ACTIVE_ACTIVE_RANGE = "2.15 to 2.17";

    private static final int MAJOR = 2;
    private static final int FIRST_MINOR = 9;
    private static final int LAST_MINOR = 17;
    private static final int FIRST_ACTIVE_ACTIVE_MINOR = 15;

    private IgniteVersions() {
        // Static methods only.
    }

    /** Whether this jar runs on the version. */
    static boolean isSupported(IgniteProductVersion version) {
        return version.major() == MAJOR && version.minor() >= FIRST_MINOR && version.minor() <= LAST_MINOR;
    }

    /** Refuses a cluster with a node whose version is out of the range. */
    static void check(Collection<? extends ClusterNode> servers) {
        String others = servers.stream()
                .filter(node -> !isSupported(node.version()))
                .map(node -> node.consistentId() + " has " + node.version())
                .sorted()
                .collect(Collectors.joining(", "));

        if (!others.isEmpty())
            throw new BacklogException(
                    UNSUPPORTED_VERSION,
                    "the jar of the backlog service (version " + BacklogService.VERSION + ") captures on Ignite "
                            + RANGE + "; node " + others);
    }

    /**
     * Whether a node with this configuration starts with a configured service: Ignite 2.11 with its own authentication
     * asks for the user of the deployment, finds none, and stops the node.
     */
    static boolean mayConfigureService(IgniteProductVersion version, IgniteConfiguration configuration) {
        return version.major() != MAJOR || version.minor() != 11 || !configuration.isAuthenticationEnabled();
    }

    /**
     * Refuses a version whose nodes take no versions of entries from thin clients, or in another form (2.14).
     *
     * @throws IgniteException The node then does not start.
     */
    static void checkActiveActive(IgniteProductVersion version) {
        if (!isSupported(version) || version.minor() < FIRST_ACTIVE_ACTIVE_MINOR)
            throw new IgniteException(ActiveActive.CLUSTER + " is set, and this node has Ignite " + version
                    + ": caches that several clusters write need Ignite " + ACTIVE_ACTIVE_RANGE);
    }

    /** Makes a query notify of expired entries. The setter returns nothing before 2.14. */
    static void includeExpired(ContinuousQuery<?, ?> query) {
        invoke(ContinuousQuery.class, query, "setIncludeExpired", new Class<?>[] {boolean.class}, true);
    }

    /**
     * The configuration of a deployed service, whose class may be unknown to this node. Its type is narrower since
     * 2.17.
     */
    static LazyServiceConfiguration configuration(ServiceDescriptor service) {
        return (LazyServiceConfiguration) invoke(service.getClass(), service, "configuration", new Class<?>[0]);
    }

    private static Object invoke(
            Class<?> type, Object target, String method, Class<?>[] parameters, Object... arguments) {
        try {
            return type.getMethod(method, parameters).invoke(target, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException) throw (RuntimeException) e.getCause();

            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(type.getName() + '.' + method + " is not in this version of Ignite", e);
        }
    }
}
