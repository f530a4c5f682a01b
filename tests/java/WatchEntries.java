import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import javax.cache.event.CacheEntryEvent;
import javax.cache.event.EventType;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Prints each change of a cache, as a continuous query of a Java client hears of them, until its input ends. Usage:
 * host:port cache. Lines: "watching", then key and number of the value's field seq, or key and - for a removal.
 */
public class WatchEntries {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        try (IgniteClient client = Ignition.startClient(
                new ClientConfiguration().setAddresses(args[0]).setClusterDiscoveryEnabled(false))) {
            ClientCache<Long, BinaryObject> cache = client.cache(args[1]).withKeepBinary();
            ContinuousQuery<Long, BinaryObject> query = new ContinuousQuery<>();

            query.setLocalListener(events -> {
                for (CacheEntryEvent<? extends Long, ? extends BinaryObject> event : events)
                    OUT.println(event.getKey() + " " + seq(event));
            });

            cache.query(query, failure -> OUT.println("disconnected " + failure));
            OUT.println("watching");

            while (System.in.read() >= 0) {
                // Until the input ends.
            }
        }
    }

    private static Object seq(CacheEntryEvent<? extends Long, ? extends BinaryObject> event) {
        return event.getEventType() == EventType.REMOVED
                ? "-"
                : event.getValue().field("seq");
    }
}
