package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FORBIDDEN;
import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.function.Supplier;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.security.OperationSecurityContext;
import org.apache.ignite.internal.processors.security.SecurityContext;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecurityPermission;

/**
 * Authorizes calls: a call that writes needs the secret of the capture, a call that reads a cache needs the caller's
 * permission to read it, a call that makes nodes create a cache or deploy a service needs the caller's permission for
 * that name.
 *
 * <p>Permissions exist where nodes have a security plugin. Ignite's own authentication has users but no permissions on
 * caches; there, only its administrator may end a capture without the secret. Without both, every client may, as it may
 * destroy any cache.
 */
final class Guard {
    /** Minimum length of a secret: 16 random bytes in base 64 have 22 characters. */
    static final int SECRET_CHARACTERS = 22;

    /** The administrator in Ignite's own authentication. */
    private static final String ADMINISTRATOR = "ignite";

    private final GridKernalContext ctx;

    Guard(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    /** SHA-256 of a secret in hexadecimal digits; the cluster stores only this. */
    static String digest(String secret) {
        if (secret.length() < SECRET_CHARACTERS)
            throw new BacklogException(
                    MALFORMED,
                    "the secret of a capture has " + secret.length() + " characters; it needs at least "
                            + SECRET_CHARACTERS);

        try {
            StringBuilder digits = new StringBuilder();

            for (byte one : MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8)))
                digits.append(String.format("%02x", one));

            return digits.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JVM has it
        }
    }

    /** Refuses a call that changes a capture and lacks its secret; a capture without a secret accepts any call. */
    static void requireSecret(Connector connector, String secret) {
        String digest = connector.secretDigest();

        if (digest == null) return;

        if (secret == null)
            throw new BacklogException(
                    FORBIDDEN,
                    "the capture of connector '" + connector.settings.connector
                            + "' has a secret, and this call has none");

        if (!MessageDigest.isEqual(
                digest(secret).getBytes(StandardCharsets.UTF_8), digest.getBytes(StandardCharsets.UTF_8)))
            throw new BacklogException(
                    FORBIDDEN,
                    "the capture of connector '" + connector.settings.connector
                            + "' has another secret than this call");
    }

    /** Refuses a call whose user may not read the caches. */
    void requireRead(Collection<String> caches) {
        for (String cache : caches)
            authorize(cache, SecurityPermission.CACHE_READ, "may not read cache '" + cache + '\'');
    }

    /** Refuses a call whose user may not put and remove entries of the caches. */
    void requireWrite(Collection<String> caches) {
        for (String cache : caches) {
            authorize(cache, SecurityPermission.CACHE_PUT, "may not put entries of cache '" + cache + '\'');
            authorize(cache, SecurityPermission.CACHE_REMOVE, "may not remove entries of cache '" + cache + '\'');
        }
    }

    /** Refuses a call that would create the backlog cache of that name if its user may not create it. */
    void requireCreate(String cache) {
        authorize(cache, SecurityPermission.CACHE_CREATE, "may not create backlog cache '" + cache + '\'');
    }

    /** Refuses a call that would deploy the capture service of that name if its user may not deploy it. */
    void requireDeploy(String service) {
        authorize(service, SecurityPermission.SERVICE_DEPLOY, "may not deploy capture service '" + service + '\'');
    }

    /** Refuses to end a capture without its secret unless the caller is an administrator. */
    void requireAdministrator(String connector) {
        String refused = "may not end the capture of connector '" + connector + "' without its secret";

        authorize(null, SecurityPermission.ADMIN_OPS, refused);

        if (ctx.config().isAuthenticationEnabled() && !ctx.security().enabled())
            throw new BacklogException(
                    FORBIDDEN, "Ignite before 2.11 does not tell a service which user calls it: this call " + refused);

        if (ctx.config().isAuthenticationEnabled() && !isThisNode() && !ADMINISTRATOR.equals(login()))
            throw new BacklogException(
                    FORBIDDEN, "user '" + login() + "' " + refused + "; user '" + ADMINISTRATOR + "' may");
    }

    /** Whether nodes know users, and the caller is one that may end captures without their secrets. */
    boolean isAdministrator(String connector) {
        if (!ctx.security().enabled()) return false;

        try {
            requireAdministrator(connector);

            return true;
        } catch (BacklogException e) {
            return false;
        }
    }

    /** Describes the caller, for the log. */
    String caller() {
        return ctx.security().enabled() && !isThisNode()
                ? "user '" + login() + '\''
                : "a client or node without a user";
    }

    /** Runs with the node's own permissions, so that callers need none on the caches of the backlog. */
    <T> T asNode(Supplier<T> work) {
        OperationSecurityContext node = ctx.security().withContext(ctx.localNodeId());

        try {
            return work.get();
        } finally {
            node.close(); // restores the caller's permissions
        }
    }

    /** Runs with the node's own permissions. */
    void runAsNode(Runnable work) {
        asNode(() -> {
            work.run();

            return null;
        });
    }

    private void authorize(String name, SecurityPermission permission, String refused) {
        if (!ctx.security().enabled()) return;

        try {
            ctx.security().authorize(name, permission);
        } catch (SecurityException e) {
            throw new BacklogException(
                    FORBIDDEN, "user '" + login() + "' " + refused + " (Ignite's permission " + permission + ')', e);
        }
    }

    /** Whether the call has no user, but the node's own permissions. */
    private boolean isThisNode() {
        SecurityContext security = ctx.security().securityContext();

        return security == null
                || security.subject() == null
                || ctx.localNodeId().equals(security.subject().id());
    }

    private Object login() {
        SecurityContext security = ctx.security().securityContext();

        return security == null || security.subject() == null
                ? null
                : security.subject().login();
    }
}
