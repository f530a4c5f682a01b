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
 * Who may do what: calls that write need the secret of their capture, calls that read a cache need the caller's right
 * to read it.
 *
 * <p>Rights exist where the node has a security plugin. Ignite's own authentication knows users, but no rights on
 * caches; there, only its administrator may end a capture without the secret. Without either, every client may, as it
 * may destroy any cache.
 */
final class Guard {
    /** Characters of a secret, at least: 16 random bytes in base 64 have 22. */
    static final int SECRET_CHARACTERS = 22;

    /** The user of Ignite's own authentication who manages the others. */
    private static final String ADMINISTRATOR = "ignite";

    private final GridKernalContext ctx;

    Guard(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    /** SHA-256 of a secret in hexadecimal digits, which is all that the cluster keeps of it. */
    static String digest(String secret) {
        if (secret.length() < SECRET_CHARACTERS)
            throw new BacklogException(
                    MALFORMED,
                    "the secret of a capture has " + secret.length() + " characters, at least " + SECRET_CHARACTERS
                            + " are wanted");

        try {
            StringBuilder digits = new StringBuilder();

            for (byte one : MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8)))
                digits.append(String.format("%02x", one));

            return digits.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JVM has it
        }
    }

    /**
     * Refuses a call that changes a capture, unless it has the capture's secret; a capture without secret takes any
     * call.
     */
    static void mayWrite(Connector connector, String secret) {
        String digest = connector.secretDigest();

        if (digest == null) return;

        if (secret == null)
            throw new BacklogException(
                    FORBIDDEN,
                    "the capture of connector '" + connector.settings.connector
                            + "' has a secret, and this call brings none");

        if (!MessageDigest.isEqual(
                digest(secret).getBytes(StandardCharsets.UTF_8), digest.getBytes(StandardCharsets.UTF_8)))
            throw new BacklogException(
                    FORBIDDEN,
                    "the capture of connector '" + connector.settings.connector
                            + "' has another secret than this call brings");
    }

    /** Refuses a call that reads caches, unless its user may read them. */
    void mayRead(Collection<String> caches) {
        for (String cache : caches)
            authorize(cache, SecurityPermission.CACHE_READ, "may not read cache '" + cache + '\'');
    }

    /** Refuses to end a capture without its secret, unless the caller is an administrator. */
    void mayEnd(String connector) {
        String refused = "may not end the capture of connector '" + connector + "' without its secret";

        authorize(null, SecurityPermission.ADMIN_OPS, refused);

        if (ctx.config().isAuthenticationEnabled()
                && !ctx.security().isDefaultContext()
                && !ADMINISTRATOR.equals(login()))
            throw new BacklogException(
                    FORBIDDEN, "user '" + login() + "' " + refused + "; user '" + ADMINISTRATOR + "' may");
    }

    /** Who calls, for the log. */
    String caller() {
        return ctx.security().enabled() && !ctx.security().isDefaultContext()
                ? "user '" + login() + '\''
                : "a client or node without a user";
    }

    /**
     * Does with the node's own rights what the caller, whose rights have been checked, asked for: nobody else needs any
     * on the backlog's caches.
     */
    <T> T asNode(Supplier<T> work) {
        OperationSecurityContext node = ctx.security().withContext(ctx.localNodeId());

        try {
            return work.get();
        } finally {
            node.close(); // back to the caller's
        }
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

    private Object login() {
        SecurityContext security = ctx.security().securityContext();

        return security == null || security.subject() == null
                ? null
                : security.subject().login();
    }
}
