package ignitekafka.backlog;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.ignite.internal.util.typedef.internal.CU;

/**
 * Record of one connector in the {@link ConnectorRegistry}; immutable. Stored as a sorted map of strings: nodes without
 * this jar can read it, and equal content has equal bytes.
 *
 * <p>Keys: {@code setting.<name>}; {@code capture}, the id of this capture; {@code begun}, present once its backlog
 * cache was created; {@code secret}, the SHA-256 of its secret, if it has one; {@code cache.<name>}, present for each
 * captured cache. For caches whose capture is prepared also {@code deployment.<name>}, {@code incarnation.<name>},
 * {@code partitions.<name>} (count) and {@code registered.<name>} (ids of the {@link CaptureService}s whose continuous
 * query captures it).
 */
final class Connector {
    private static final String SETTING = "setting.";
    private static final String CACHE = "cache.";
    private static final String DEPLOYMENT = "deployment.";
    private static final String INCARNATION = "incarnation.";
    private static final String PARTITIONS = "partitions.";
    private static final String REGISTERED = "registered.";
    private static final String SECRET = "secret";

    final ConnectorSettings settings;
    private final TreeMap<String, String> map;

    Connector(String name, TreeMap<String, String> map) {
        Map<String, String> given = new TreeMap<>();

        map.forEach((key, value) -> {
            if (key.startsWith(SETTING)) given.put(key.substring(SETTING.length()), value);
        });

        settings = new ConnectorSettings(name, given);
        this.map = map;
    }

    /** The record of a connector that is started for the first time. */
    static Connector first(ConnectorSettings settings) {
        TreeMap<String, String> map = new TreeMap<>();

        settings.asMap().forEach((name, value) -> map.put(SETTING + name, value));
        map.put("capture", String.valueOf(newId(0)));

        return new Connector(settings.connector, map);
    }

    TreeMap<String, String> asMap() {
        return map;
    }

    /** Increases with each capture; a different id means that changes in between were lost. */
    long captureId() {
        return Long.parseLong(map.get("capture"));
    }

    /** SHA-256 of the capture's secret, or null for a capture without one. */
    String secretDigest() {
        return map.get(SECRET);
    }

    Connector withSecret(String digest) {
        return with(SECRET, digest);
    }

    boolean begun() {
        return map.containsKey("begun");
    }

    Set<String> caches() {
        return map.keySet().stream()
                .filter(key -> key.startsWith(CACHE))
                .map(key -> key.substring(CACHE.length()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Deployment id of the captured cache, or null while its capture is not prepared. */
    String deployment(String cache) {
        return map.get(DEPLOYMENT + cache);
    }

    /** Incarnation of a cache that is or was captured, else 0. */
    long incarnation(String cache) {
        return Long.parseLong(map.getOrDefault(INCARNATION + cache, "0"));
    }

    /** Number of partitions of that incarnation. */
    int partitions(String cache) {
        return Integer.parseInt(map.getOrDefault(PARTITIONS + cache, "0"));
    }

    /** Ids of the services that registered the capture of that incarnation, running or ended. */
    Set<String> registered(String cache) {
        String services = map.getOrDefault(REGISTERED + cache, "");

        return services.isEmpty() ? Collections.emptySet() : new HashSet<>(Arrays.asList(services.split(",")));
    }

    /** The unit of a partition in the present incarnation of the cache. */
    Unit unit(String cache, int partition) {
        return new Unit(CU.cacheId(cache), partition, incarnation(cache));
    }

    Connector begin() {
        return with("begun", "true");
    }

    /** A new capture, with an empty backlog. */
    Connector renewed() {
        TreeMap<String, String> renewed = new TreeMap<>(map);

        renewed.put("capture", String.valueOf(newId(captureId())));
        renewed.keySet().removeIf(key -> key.startsWith(DEPLOYMENT) || key.startsWith(REGISTERED));

        return new Connector(settings.connector, renewed);
    }

    Connector withCaches(Collection<String> caches) {
        TreeMap<String, String> changed = new TreeMap<>(map);
        Set<String> removed = new LinkedHashSet<>(caches());

        removed.removeAll(caches);
        removed.forEach(cache -> {
            changed.remove(CACHE + cache);
            changed.remove(DEPLOYMENT + cache);
            changed.remove(REGISTERED + cache);
        });
        caches.forEach(cache -> changed.put(CACHE + cache, ""));

        return new Connector(settings.connector, changed);
    }

    /** Sets the deployment of a captured cache, as a new incarnation unless it keeps its present one. */
    Connector deployed(String cache, String deployment, int partitions, boolean keepIncarnation) {
        Connector changed = with(DEPLOYMENT + cache, deployment).with(PARTITIONS + cache, String.valueOf(partitions));

        return keepIncarnation
                ? changed
                : changed.with(INCARNATION + cache, String.valueOf(newId(incarnation(cache))))
                        .registered(cache, Collections.emptySet());
    }

    Connector registered(String cache, Set<String> services) {
        return with(REGISTERED + cache, services.stream().sorted().collect(Collectors.joining(",")));
    }

    private Connector with(String key, String value) {
        TreeMap<String, String> changed = new TreeMap<>(map);

        changed.put(key, value);

        return new Connector(settings.connector, changed);
    }

    /** The time in milliseconds, or the id before plus one: ids increase over restarts of the whole cluster too. */
    private static long newId(long before) {
        return Math.max(before + 1, System.currentTimeMillis());
    }
}
