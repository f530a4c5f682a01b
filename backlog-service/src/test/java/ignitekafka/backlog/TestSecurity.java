package ignitekafka.backlog;

import java.io.Serializable;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.IgniteNodeAttributes;
import org.apache.ignite.internal.processors.GridProcessorAdapter;
import org.apache.ignite.internal.processors.security.GridSecurityProcessor;
import org.apache.ignite.internal.processors.security.SecurityContext;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginContext;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecuritySubject;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/**
 * A security plugin: nodes have all permissions, users those of their list, as {@code PERMISSION} or
 * {@code PERMISSION:name}. It does not check passwords.
 */
final class TestSecurity extends GridProcessorAdapter implements GridSecurityProcessor {
    private static final Map<UUID, Subject> SUBJECTS = new ConcurrentHashMap<>();

    private final Map<String, Set<String>> rights;

    private TestSecurity(GridKernalContext ctx, Map<String, Set<String>> rights) {
        super(ctx);
        this.rights = rights;
    }

    /** The provider of the plugin; a node also needs the providers of its other plugins. */
    static PluginProvider<?> provider(Map<String, Set<String>> rights) {
        IgnitePlugin plugin = new IgnitePlugin() {
                    // Does nothing.
                };

        return (PluginProvider<?>) Proxy.newProxyInstance(
                TestSecurity.class.getClassLoader(),
                new Class<?>[] {PluginProvider.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("createComponent") && arguments[1] == GridSecurityProcessor.class)
                        return new TestSecurity(((IgniteEx) ((PluginContext) arguments[0]).grid()).context(), rights);

                    return method.getReturnType() == String.class
                            ? "test-security"
                            : method.getName().equals("plugin") ? plugin : null;
                });
    }

    @Override
    public void start() throws IgniteCheckedException {
        super.start();
        ctx.addNodeAttribute(IgniteNodeAttributes.ATTR_SECURITY_CREDENTIALS, new SecurityCredentials("node", "node"));
    }

    @Override
    public SecurityContext authenticateNode(ClusterNode node, SecurityCredentials credentials) {
        return subject(node.id(), SecuritySubjectType.REMOTE_NODE, null);
    }

    @Override
    public boolean isGlobalNodeAuthentication() {
        return false;
    }

    @Override
    public SecurityContext authenticate(AuthenticationContext authentication) {
        Object login = authentication.credentials() == null
                ? null
                : authentication.credentials().getLogin();

        return login == null || !rights.containsKey(login)
                ? null
                : subject(authentication.subjectId(), SecuritySubjectType.REMOTE_CLIENT, login);
    }

    private static Subject subject(UUID id, SecuritySubjectType type, Object login) {
        return SUBJECTS.computeIfAbsent(id, one -> new Subject(id, type, login));
    }

    @Override
    public Collection<SecuritySubject> authenticatedSubjects() {
        return List.of();
    }

    @Override
    public SecuritySubject authenticatedSubject(UUID id) {
        return SUBJECTS.get(id);
    }

    @Override
    public SecurityContext securityContext(UUID id) {
        return SUBJECTS.get(id);
    }

    @Override
    public void authorize(String name, SecurityPermission permission, SecurityContext context)
            throws SecurityException {
        Subject subject = (Subject) context.subject();

        if (subject.type == SecuritySubjectType.REMOTE_NODE) return;

        Set<String> granted = rights.get(subject.login);

        if (!granted.contains(permission.name()) && !granted.contains(permission.name() + ':' + name))
            throw new SecurityException(
                    "Authorization failed [perm=" + permission + ", name=" + name + ", subject=" + subject.login + ']');
    }

    @Override
    public void onSessionExpired(UUID id) {
        SUBJECTS.remove(id);
    }

    @Deprecated
    @Override
    public boolean enabled() {
        return true;
    }

    /** A node, or a user of a client. */
    private static final class Subject implements SecurityContext, SecuritySubject, Serializable {
        private static final long serialVersionUID = 1;

        private final UUID id;
        private final SecuritySubjectType type;
        private final Object login;

        Subject(UUID id, SecuritySubjectType type, Object login) {
            this.id = id;
            this.type = type;
            this.login = login;
        }

        @Override
        public SecuritySubject subject() {
            return this;
        }

        @Override
        public UUID id() {
            return id;
        }

        @Override
        public SecuritySubjectType type() {
            return type;
        }

        @Override
        public Object login() {
            return login;
        }

        @Override
        public InetSocketAddress address() {
            return null;
        }
    }
}
