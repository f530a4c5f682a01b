package ignitekafka.backlog;

import org.apache.ignite.IgniteException;

/**
 * A refusal that its caller can act on. The message begins with {@code BACKLOG/<code>: }, because thin clients get
 * nothing but the message.
 */
public final class BacklogException extends IgniteException {
    /** Why; part of the contract with callers. */
    public enum Code {
        /** An argument that is no connector name, no setting, no cache, or bytes of another layout. */
        MALFORMED,

        /** No connector of that name captures. */
        UNKNOWN_CONNECTOR,

        /** The connector captures already, with other settings. */
        OTHER_SETTINGS,

        /** The connector of that name is another one: its offsets are elsewhere. */
        OTHER_OWNER,

        /** A cache that is not there. */
        UNKNOWN_CACHE,

        /** The cache of the backlog cache's name is not the connector's. */
        FOREIGN_CACHE,

        /** The service of the capture service's name is not the connector's. */
        FOREIGN_SERVICE,

        /** The call lacks the capture's secret, or its user a permission. */
        FORBIDDEN,

        /** The memory region of the backlog cache is not configured on a node. */
        MISSING_REGION,

        /** A server node has not this jar on its class path. */
        MISSING_JAR,

        /** Nodes could not do it in time. */
        UNAVAILABLE
    }

    private final Code code;

    BacklogException(Code code, String message) {
        this(code, message, null);
    }

    BacklogException(Code code, String message, Throwable cause) {
        super("BACKLOG/" + code + ": " + message, cause);
        this.code = code;
    }

    /** Returns why. */
    public Code code() {
        return code;
    }
}
