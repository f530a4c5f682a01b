import com.fasterxml.jackson.databind.JsonNode;
import java.sql.Timestamp;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Writers: T threads, each with a thin client of its own, put six-field objects under random keys; with batch above 1
 * by putAll. With `removals` they remove keys 0, 1, 2, ... instead, each once, by removeAll.
 */
public final class Puts {
    private static final int KEYS = 100_000;

    public static void main(String[] arguments) throws Exception {
        Serve.rounds(Puts::putAll);
    }

    static long putAll(JsonNode request) throws Exception {
        int threads = request.get("threads").asInt();
        return Serve.inThreads(
                threads, thread -> put(request, thread, request.get("puts").asInt() / threads));
    }

    static long put(JsonNode request, int seed, int puts) {
        int batch = request.get("batch").asInt();
        Random random = new Random(seed);
        ClientConfiguration address =
                new ClientConfiguration().setAddresses(request.get("address").asText());
        try (IgniteClient client = Ignition.startClient(address)) {
            ClientCache<Long, BinaryObject> cache = client.<Long, BinaryObject>cache(
                            request.get("cache").asText())
                    .withKeepBinary();
            if (request.path("removals").asBoolean()) return remove(cache, (long) seed * puts, puts, batch);
            for (int done = 0; done < puts; ) {
                SortedMap<Long, BinaryObject> entries = new TreeMap<>(); // one order for all writers
                while (entries.size() < batch && done + entries.size() < puts) {
                    int key = random.nextInt(KEYS);
                    entries.put((long) key, trade(client, key));
                }
                if (batch == 1) cache.put(entries.firstKey(), entries.get(entries.firstKey()));
                else cache.putAll(entries);
                done += entries.size();
            }
        }
        return puts;
    }

    private static int remove(ClientCache<Long, BinaryObject> cache, long first, int count, int batch) {
        for (long key = first; key < first + count; key += batch) {
            SortedSet<Long> keys = new TreeSet<>();
            for (long each = key; each < Math.min(key + batch, first + count); each++) keys.add(each);
            cache.removeAll(keys);
        }
        return count;
    }

    private static BinaryObject trade(IgniteClient client, int row) {
        return client.binary()
                .builder("Trade")
                .setField("id", (long) row)
                .setField("symbol", "SYM" + row % 100)
                .setField("price", row * 0.5)
                .setField("qty", row % 1000)
                .setField("ts", new Timestamp(1_767_225_600_000L + row))
                .setField("note", "note for trade number " + row)
                .build();
    }
}
