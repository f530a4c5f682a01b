import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * An application that puts objects of its own classes into caches that a sink has stored records in, and reads what is
 * there. Usage: Application host:port. Requests, see {@link Requests}: {"do": what, "with": cache or query}.
 */
public class Application {
    enum Color {
        RED,
        GREEN
    }

    enum Shade {
        RED,
        GREEN
    }

    enum Paint {
        RED,
        GREEN
    }

    static class Person {
        Integer id = 2;
        String name = "b";
        Integer age = 31;
    }

    static class Human {
        Integer id = 2;
        String name = "b";
        Integer age = 31;
    }

    static class MemberKey {
        Integer dept = 2;
        Integer id = 2;
    }

    static class Member {
        Integer dept = 2;
        Integer id = 2;
        String name = "b";
    }

    static class Car {
        String model = "j";
        Color color = Color.GREEN;
    }

    static class Van {
        String model = "j";
        Shade color = Shade.GREEN;
    }

    static class Bus {
        String model = "j";
        Paint color = Paint.GREEN;
    }

    private final IgniteClient client;

    private Application(IgniteClient client) {
        this.client = client;
    }

    public static void main(String[] args) throws Exception {
        try (IgniteClient client = Ignition.startClient(new ClientConfiguration().setAddresses(args[0]))) {
            Application application = new Application(client);
            Requests.serve((request, answer) -> {
                ArrayNode lines = answer.putArray("lines");
                application
                        .answer(
                                request.path("do").asText(),
                                request.path("with").asText())
                        .forEach(lines::add);
            });
        }
    }

    /** Puts objects into a cache, or gives lines: read: its entries; found: values of known keys; sql: rows. */
    private List<String> answer(String what, String with) throws Exception {
        List<String> lines = new ArrayList<>();
        ClientCache<Object, Object> cache = what.equals("sql") ? null : client.getOrCreateCache(with);
        switch (what) {
            case "sql" -> {
                for (List<?> row : client.query(new SqlFieldsQuery(with)).getAll()) lines.add(row.toString());
            }
            case "read" -> {
                for (Cache.Entry<Object, Object> entry :
                        cache.query(new ScanQuery<>()).getAll())
                    lines.add(TypeText.text(entry.getKey()) + " " + TypeText.text(entry.getValue()));
            }
            case "person" -> cache.put(2, new Person());
            case "human" -> cache.put(2, new Human());
            case "member" -> cache.put(new MemberKey(), new Member());
            case "car" -> cache.put(99L, new Car());
            case "van" -> cache.put(99L, new Van());
            case "bus" -> cache.put(99L, new Bus());
            case "enums" -> {
                for (Color color : Color.values()) {
                    cache.put(new Color[] {color, Color.RED}, new Color[] {color, null});
                }
            }
            case "lists of enums" -> {
                for (Color color : Color.values()) {
                    cache.put(
                            new ArrayList<>(Arrays.asList(color, Color.RED)),
                            new ArrayList<>(Arrays.asList(color, null)));
                }
            }
            case "objects" -> {
                for (int n = 0; n < 2; n++) cache.put(new Object[] {n, null}, new Object[] {n});
            }
            case "found" -> {
                Object[] keys = {
                    new Color[] {Color.GREEN, Color.RED},
                    new ArrayList<>(Arrays.asList(Color.GREEN, Color.RED)),
                    new Object[] {1, null}
                };
                for (Object key : keys) if (cache.containsKey(key)) lines.add(TypeText.text(cache.get(key)));
            }
            default -> throw new IllegalArgumentException(what);
        }
        return lines;
    }
}
