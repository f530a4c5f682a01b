import java.util.ArrayList;
import java.util.List;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Peer of the read: Ignite's own Java thin client scans a whole cache on one connection and reads every field of every
 * object.
 */
public final class FieldScan {
    static Object sink;

    public static void main(String[] arguments) throws Exception {
        Serve.rounds(request ->
                scan(request.get("address").asText(), request.get("cache").asText()));
    }

    static long scan(String address, String cacheName) {
        long entries = 0;
        List<String> fields = new ArrayList<>();
        try (IgniteClient client = Ignition.startClient(new ClientConfiguration().setAddresses(address))) {
            ClientCache<Object, BinaryObject> cache =
                    client.<Object, BinaryObject>cache(cacheName).withKeepBinary();
            try (QueryCursor<Cache.Entry<Object, BinaryObject>> cursor =
                    cache.query(new ScanQuery<Object, BinaryObject>().setPageSize(10_000))) {
                for (Cache.Entry<Object, BinaryObject> entry : cursor) {
                    BinaryObject value = entry.getValue();
                    if (fields.isEmpty()) fields.addAll(value.type().fieldNames());
                    sink = entry.getKey();
                    for (String field : fields) sink = value.field(field);
                    entries++;
                }
            }
        }
        return entries;
    }
}
