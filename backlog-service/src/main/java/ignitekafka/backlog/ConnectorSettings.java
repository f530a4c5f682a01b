package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Checked settings of one connector's backlog. Names and defaults of the first five are those of GridGain's connector.
 */
final class ConnectorSettings {
    static final String CACHE_NAME = "backlogCacheName";
    static final String SERVICE_NAME = "backlogServiceName";
    static final String CACHE_BACKUPS = "backlogCacheBackups";
    static final String REGION_NAME = "backlogMemoryRegionName";
    static final String FLUSH_FREQUENCY = "backlogFlushFreq";
    static final String BUFFER_ENTRIES = "backlogBufferEntries";
    static final String BUFFER_BYTES = "backlogBufferBytes";
    static final String OWNER = "backlogOwner";

    static final String DEFAULT_REGION = "kafka-connect";

    private static final Map<String, String> DEFAULTS = defaults();

    private static final Pattern CONNECTOR = Pattern.compile("[A-Za-z0-9._-]{1,180}");

    final String connector;
    final String cacheName;
    final String serviceName;
    final int backups;
    final String regionName;

    /** Maximum time between a change and its write, in milliseconds; 0 writes at once. */
    final long flushMs;

    /** A node's buffer gives up units beyond this number of changes. */
    final long bufferEntries;

    /** A node's buffer gives up units beyond this number of bytes on the heap. */
    final long bufferBytes;

    /** Owner of the capture: distinguishes connectors of one name whose offsets are in different places. */
    final String owner;

    private final Map<String, String> all;

    /** Checks the name and the given settings; others have their defaults. */
    ConnectorSettings(String connector, Map<String, String> given) {
        if (connector == null || !CONNECTOR.matcher(connector).matches())
            throw new BacklogException(MALFORMED, "connector name '" + connector + "' must match " + CONNECTOR);

        Set<String> unknown = new TreeSet<>(given.keySet());

        unknown.removeAll(DEFAULTS.keySet());

        if (!unknown.isEmpty())
            throw new BacklogException(
                    MALFORMED, "unknown settings " + unknown + "; allowed are " + new TreeSet<>(DEFAULTS.keySet()));

        all = new TreeMap<>(DEFAULTS);
        all.putAll(given);

        this.connector = connector;
        cacheName = text(CACHE_NAME) + '-' + connector;
        serviceName = text(SERVICE_NAME) + '-' + connector;
        backups = (int) number(CACHE_BACKUPS, 0, Integer.MAX_VALUE);
        regionName = text(REGION_NAME);
        flushMs = number(FLUSH_FREQUENCY, 0, 3_600_000);
        bufferEntries = number(BUFFER_ENTRIES, 1, Long.MAX_VALUE);
        bufferBytes = number(BUFFER_BYTES, 1, Long.MAX_VALUE);
        owner = all.get(OWNER);
    }

    /** The default of a setting that is a number. */
    static long defaultNumber(String name) {
        return Long.parseLong(DEFAULTS.get(name));
    }

    /** All settings by name, defaults included. */
    Map<String, String> asMap() {
        return all;
    }

    private static Map<String, String> defaults() {
        Map<String, String> defaults = new TreeMap<>();

        defaults.put(CACHE_NAME, "kafka-connect-backlog");
        defaults.put(SERVICE_NAME, "kafka-connect-backlog-service");
        defaults.put(CACHE_BACKUPS, "1");
        defaults.put(REGION_NAME, DEFAULT_REGION);
        defaults.put(FLUSH_FREQUENCY, "500");
        defaults.put(BUFFER_ENTRIES, "200000");
        defaults.put(BUFFER_BYTES, String.valueOf(64 << 20));
        defaults.put(OWNER, "");

        return defaults;
    }

    private String text(String name) {
        String value = all.get(name);

        if (value == null || value.trim().isEmpty()) throw new BacklogException(MALFORMED, name + " must not be empty");

        return value;
    }

    private long number(String name, long from, long to) {
        String value = text(name);

        try {
            long number = Long.parseLong(value);

            if (number >= from && number <= to) return number;
        } catch (NumberFormatException ignored) {
            // Reported below.
        }

        throw new BacklogException(
                MALFORMED, name + " is '" + value + "'; it must be a whole number from " + from + " to " + to);
    }
}
