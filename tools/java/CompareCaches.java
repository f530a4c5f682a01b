import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Compares caches of two clusters entry by entry, as a Java client reads them. Usage: CompareCaches host:port host:port
 * cache ... Prints a line for each cache: name, entries here, entries there, and how many are not equal there.
 */
public class CompareCaches {
    private static final int BATCH = 5_000;

    public static void main(String[] args) throws Exception {
        try (IgniteClient here = Ignition.startClient(new ClientConfiguration().setAddresses(args[0]));
                IgniteClient there = Ignition.startClient(new ClientConfiguration().setAddresses(args[1]))) {
            for (String name : List.of(args).subList(2, args.length)) {
                ClientCache<Object, Object> one = here.cache(name).withKeepBinary();
                ClientCache<Object, Object> other = there.cache(name).withKeepBinary();
                System.out.println(name + "\t" + one.size() + "\t" + other.size() + "\t" + different(one, other));
            }
        }
    }

    private static long different(ClientCache<Object, Object> one, ClientCache<Object, Object> other) {
        long count = 0;
        Map<Object, Object> batch = new HashMap<>();
        ScanQuery<Object, Object> all = new ScanQuery<>();
        all.setPageSize(BATCH);
        try (QueryCursor<Cache.Entry<Object, Object>> entries = one.query(all)) {
            for (Cache.Entry<Object, Object> entry : entries) {
                batch.put(entry.getKey(), entry.getValue());
                if (batch.size() == BATCH) {
                    count += differing(batch, other);
                    batch.clear();
                }
            }
        }
        return count + differing(batch, other);
    }

    private static long differing(Map<Object, Object> batch, ClientCache<Object, Object> other) {
        Map<Object, Object> found = other.getAll(batch.keySet());
        return batch.entrySet().stream()
                .filter(entry -> !entry.getValue().equals(found.get(entry.getKey())))
                .count();
    }
}
