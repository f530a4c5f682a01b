package ignitekafka.backlog;

import org.apache.ignite.IgniteException;

/**
 * Failure of a call, with a code for the caller. The message begins with {@code BACKLOG/<code>: }, because thin clients
 * receive only the message.
 */
public final class BacklogException extends IgniteException {
    /** Reason of a failure; part of the contract with callers. */
    public enum Code {
        /** An argument is invalid: a connector name, a setting, a cache, or the layout of bytes. */
        MALFORMED,

        /** No connector of this name has a capture. */
        UNKNOWN_CONNECTOR,

        /** The connector has a capture with other settings. */
        OTHER_SETTINGS,

        /** The capture belongs to another connector of the same name, whose offsets are in another place. */
        OTHER_OWNER,

        /** The cache does not exist. */
        UNKNOWN_CACHE,

        /** Another cache has the name of the connector's backlog cache. */
        FOREIGN_CACHE,

        /** Another service has the name of the connector's capture service. */
        FOREIGN_SERVICE,

        /** The call lacks the secret of the capture, or its user lacks a permission. */
        FORBIDDEN,

        /** A setting is beyond a limit that the administrator of a node has set. */
        BEYOND_LIMIT,

        /** The memory region of the backlog cache is not configured on a node. */
        MISSING_REGION,

        /** This jar is not on the class path of a server node. */
        MISSING_JAR,

        /** A node runs a version of Ignite that this jar does not run on. */
        UNSUPPORTED_VERSION,

        /** A newer task of the sink writes; or none that this cluster knows. */
        FENCED,

        /** Nodes could not complete the call now; it can be retried. */
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

    /** Returns the reason. */
    public Code code() {
        return code;
    }
}
