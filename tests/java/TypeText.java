import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.affinity.AffinityKey;

/** Values as text, equal to that of tests/support/value_text.py. */
class TypeText {
    static String text(Object value) throws IllegalAccessException {
        if (value == null) return "null";
        if (value instanceof Byte) return "byte:" + value;
        if (value instanceof Short) return "short:" + value;
        if (value instanceof Integer) return "int:" + value;
        if (value instanceof Long) return "long:" + value;
        if (value instanceof Float) return "float:" + Integer.toHexString(Float.floatToRawIntBits((Float) value));
        if (value instanceof Double) return "double:" + Long.toHexString(Double.doubleToRawLongBits((Double) value));
        if (value instanceof Character) return "char:" + (int) (Character) value;
        if (value instanceof Boolean) return "bool:" + value;
        if (value instanceof String) return "str:" + hex(((String) value).getBytes(StandardCharsets.UTF_8));
        if (value instanceof UUID) return "uuid:" + value;
        if (value instanceof Timestamp)
            return "ts:" + Math.floorDiv(((Timestamp) value).getTime(), 1000L) + ":" + ((Timestamp) value).getNanos();
        if (value instanceof Time) return "time:" + ((Time) value).getTime();
        if (value instanceof java.sql.Date) return "sqldate:" + value;
        if (value instanceof Date) return "date:" + ((Date) value).getTime();
        if (value instanceof BigDecimal)
            return "dec:" + ((BigDecimal) value).unscaledValue() + ":" + ((BigDecimal) value).scale();
        if (value instanceof byte[]) return "bytes:" + hex((byte[]) value);
        if (value instanceof Enum) return "enum:" + ((Enum<?>) value).name();
        if (value instanceof Class) return "class:" + ((Class<?>) value).getName();
        if (value.getClass().getName().startsWith("java.time."))
            return value.getClass().getSimpleName() + ":" + value;
        if (value instanceof AffinityKey)
            return "AffinityKey(affKey=" + text(((AffinityKey<?>) value).affinityKey()) + ",key="
                    + text(((AffinityKey<?>) value).key()) + ")";
        if (value instanceof WriteTypes.Loop) return ((WriteTypes.Loop) value).self == value ? "loop" : "no loop";
        if (value instanceof BigInteger) return "dec:" + value + ":0";
        if (value instanceof BinaryObject) return binary((BinaryObject) value);
        return compound(value);
    }

    private static String binary(BinaryObject value) throws IllegalAccessException {
        List<String> parts = new ArrayList<>();
        for (String field : new TreeSet<>(value.type().fieldNames())) parts.add(field + "=" + text(value.field(field)));
        return value.type().typeName() + "(" + String.join(",", parts) + ")";
    }

    private static String compound(Object value) throws IllegalAccessException {
        List<String> parts = new ArrayList<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
                parts.add(text(entry.getKey()) + "=" + text(entry.getValue()));
            return "{" + String.join(",", parts) + "}";
        }
        if (value instanceof Collection) {
            for (Object item : (Collection<?>) value) parts.add(text(item));
            return "[" + String.join(",", parts) + "]";
        }
        if (value.getClass().isArray()) {
            for (int n = 0; n < Array.getLength(value); n++) parts.add(text(Array.get(value, n)));
            return "[" + String.join(",", parts) + "]";
        }
        Map<String, String> fields = new TreeMap<>();
        for (Class<?> type = value.getClass(); type != Object.class; type = type.getSuperclass())
            for (Field field : type.getDeclaredFields()) fields.put(field.getName(), text(field.get(value)));
        fields.forEach((name, text) -> parts.add(name + "=" + text));
        return value.getClass().getSimpleName() + "(" + String.join(",", parts) + ")";
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) text.append(String.format("%02x", one));
        return text.toString();
    }
}
