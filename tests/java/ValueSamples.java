import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.ignite.cache.affinity.AffinityKey;

/** Entries with keys of every type, and with values that are no objects. */
class ValueSamples {
    static void write() throws Exception {
        keys();
        plain();
        single();
    }

    private static void keys() throws Exception {
        for (int n = 0; n < 20; n++) {
            WriteTypes.put(
                    "object_key",
                    new WriteTypes.KeyA(n, "code" + n),
                    n % 2 == 0 ? new WriteTypes.Point(n, "p") : new WriteTypes.Point(-n, null));
            WriteTypes.put("string_key", "key \u20ac" + n, new WriteTypes.Point(n, "q"));
            WriteTypes.put("uuid_key", new UUID(n, n), "value " + n);
            if (n < 3) WriteTypes.put("enum_key", WriteTypes.Color.values()[n], new BigDecimal(n));
            WriteTypes.put("date_key", new Timestamp(n * 1_000L), new Date(n));
            WriteTypes.put("decimal_key", new BigDecimal(n).movePointLeft(2), new int[] {n});
        }
        for (int n = 0; n < 6; n++) {
            WriteTypes.EnumKey key = new WriteTypes.EnumKey(n);
            if (n < 3) WriteTypes.put("enum_in_key", key, (short) n);
            else WriteTypes.putBuilt("enum_in_key", key, (short) n);
        }
        Object[] keys = {(byte) 1, (short) 1, 1, 1L, 1f, 1d, 'a', true, "1", new UUID(0, 1), new Date(1), new Time(1)};
        for (Object key : keys)
            WriteTypes.put(
                    "any_key", key, new WriteTypes.Point(1, key.getClass().getSimpleName()));
    }

    private static void plain() throws Exception {
        WriteTypes.Flat flat = new WriteTypes.Flat();
        ObjectSamples.fill(flat, 3);
        int n = 0;
        for (Field field : WriteTypes.Flat.class.getDeclaredFields()) WriteTypes.put("plain", n++, field.get(flat));
        for (int k = 0; k < 3; k++) WriteTypes.put("plain", n++, new WriteTypes.Point(k, "in plain"));
        WriteTypes.put("plain", n++, new WriteTypes.Circle(1, 2));
        WriteTypes.put(
                "plain",
                n++,
                new ArrayList<>(Arrays.asList(new WriteTypes.Point(1, "in list"), new WriteTypes.Point(2, null))));
        WriteTypes.put(
                "plain", n++, new HashMap<>(Map.of(new WriteTypes.KeyA(1, "k"), new WriteTypes.Point(1, "in map"))));
        WriteTypes.put("plain", n++, new Object[] {new WriteTypes.Point(5, "in array"), 6});
        WriteTypes.put("plain", n++, new String[] {"a", null});
        WriteTypes.put("plain", n++, new WriteTypes.Color[] {WriteTypes.Color.RED});
        WriteTypes.put("plain", n++, new char[] {'a'});
        WriteTypes.put("plain", n++, new BigDecimal("1E+30"));
        WriteTypes.put("plain", n++, new BigDecimal("1.000000000000000000000000000000000000000000000000001"));
    }

    private static void single() throws Exception {
        WriteTypes.put("sql_date", 1, java.sql.Date.valueOf("2024-02-29"));
        WriteTypes.put("local_date", 1, LocalDate.of(2024, 2, 29));
        WriteTypes.put("local_date_time", 1, LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4));
        WriteTypes.put("instant", 1, Instant.ofEpochSecond(1, 2));
        WriteTypes.put("local_time", 1, LocalTime.of(1, 2));
        WriteTypes.put("unmodifiable", 1, Collections.unmodifiableList(new ArrayList<>(Arrays.asList(1, 2))));
        WriteTypes.put("list_of", 1, Arrays.asList(1, null, 2));
        WriteTypes.put("immutable", 1, List.of("a", "b"));
        WriteTypes.put("immutable", 2, List.of());
        WriteTypes.put("immutable", 3, Map.of("k", new BigInteger("-170141183460469231731687303715884105728")));
        WriteTypes.put(
                "immutable",
                4,
                Arrays.asList(
                        Set.of(LocalDate.of(2024, 1, 2)),
                        Arrays.asList("same", "same"),
                        new UUID(1, 2),
                        'c',
                        new Date(3)));
        WriteTypes.put(
                "immutable", 5, Collections.unmodifiableMap(new LinkedHashMap<>(Map.of(1.5, new BigDecimal("-0.25")))));
        WriteTypes.put("immutable", 6, new ArrayList<>(Arrays.asList("a")));
        WriteTypes.put("tree_map", 1, new TreeMap<>(Map.of("a", 1, "b", 2)));
        WriteTypes.put("tree_set", 1, new TreeSet<>(Arrays.asList(3, 1, 2)));
        WriteTypes.put("class_value", 1, String.class);
        WriteTypes.put("zoned", 1, ZonedDateTime.parse("2024-01-02T03:04:05+01:00[Europe/Paris]"));
        WriteTypes.put("affinity_key", new AffinityKey<>(5, 7L), "value");
        WriteTypes.put("big_integer", 1, new BigInteger("123456789012345678901234567890"));
    }
}
