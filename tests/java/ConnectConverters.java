import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/**
 * Converts with any of Kafka's converters.
 *
 * <p>Standard input, one JSON array a line: [class, properties, "write", schema, value] with schema and value as
 * ConnectJson takes them, or [class, properties, "read", bytes in base64 or null]; "write header" and "read header" for
 * converters of headers. Standard output, one line each: for "write" the bytes in base64 or null; for "read" [type,
 * optional, value in exact form]; for "read header" [schema, value], with a schema as [type, name, parameters, inner
 * schemas]; {"error": messages} of the exception and its causes.
 */
public class ConnectConverters {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
            System.out.flush();
        }
    }

    private static Object answer(JsonNode request) throws Exception {
        Object made =
                Class.forName(request.get(0).asText()).getDeclaredConstructor().newInstance();
        if (request.get(2).asText().endsWith("header")) return header((HeaderConverter) made, request);
        Converter converter = (Converter) made;
        Map<String, Object> properties = new HashMap<>();
        request.get(1)
                .fields()
                .forEachRemaining(
                        one -> properties.put(one.getKey(), one.getValue().asText()));
        converter.configure(properties, false);
        try {
            return request.get(2).asText().equals("write") ? write(converter, request) : read(converter, request);
        } catch (DataException error) {
            return Map.of("error", messages(error));
        }
    }

    private static Object header(HeaderConverter converter, JsonNode request) {
        converter.configure(Map.of("converter.type", "header"));
        if (request.get(2).asText().startsWith("write")) {
            Schema schema = ConnectJson.schema(request.get(3));
            byte[] bytes =
                    converter.fromConnectHeader("topic", "header", schema, ConnectJson.value(schema, request.get(4)));
            return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
        }
        byte[] bytes = Base64.getDecoder().decode(request.get(3).asText());
        SchemaAndValue found = converter.toConnectHeader("topic", "header", bytes);
        if (found == null) return Arrays.asList(null, null);
        return Arrays.asList(described(found.schema()), exact(found.schema(), found.value()));
    }

    private static Object described(Schema schema) {
        if (schema == null) return null;
        Map<String, Object> inner = new HashMap<>();
        if (schema.type() == Schema.Type.ARRAY) inner.put("items", described(schema.valueSchema()));
        if (schema.type() == Schema.Type.MAP) {
            inner.put("keys", described(schema.keySchema()));
            inner.put("values", described(schema.valueSchema()));
        }
        Object parameters = schema.parameters() == null ? Map.of() : schema.parameters();
        return Arrays.asList(schema.type().getName(), schema.name(), parameters, inner);
    }

    /** Values without a schema only show that they are there. */
    private static Object exact(Schema schema, Object value) {
        if (schema == null) return value == null ? null : "?";
        List<Object> items = new ArrayList<>();
        if (value instanceof List) {
            for (Object item : (List<?>) value) items.add(exact(schema.valueSchema(), item));
            return items;
        }
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
                items.add(Arrays.asList(
                        exact(schema.keySchema(), entry.getKey()), exact(schema.valueSchema(), entry.getValue())));
            return items;
        }
        if (value instanceof Date) return Long.toString(((Date) value).getTime());
        if (value instanceof BigDecimal)
            return ((BigDecimal) value).unscaledValue() + " " + ((BigDecimal) value).scale();
        return exact(value);
    }

    private static String write(Converter converter, JsonNode request) {
        Schema schema = ConnectJson.schema(request.get(3));
        byte[] bytes = converter.fromConnectData("topic", schema, ConnectJson.value(schema, request.get(4)));
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static Object read(Converter converter, JsonNode request) {
        JsonNode bytes = request.get(3);
        SchemaAndValue found = converter.toConnectData(
                "topic", bytes.isNull() ? null : Base64.getDecoder().decode(bytes.asText()));
        return Arrays.asList(found.schema().type().getName(), found.schema().isOptional(), exact(found.value()));
    }

    /** Floats as their hexadecimal bits, bytes in base64, all else as text. */
    private static Object exact(Object value) {
        if (value instanceof Float) return String.format("%08x", Float.floatToRawIntBits((Float) value));
        if (value instanceof Double) return String.format("%016x", Double.doubleToRawLongBits((Double) value));
        if (value instanceof byte[]) return Base64.getEncoder().encodeToString((byte[]) value);
        return value == null ? null : value.toString();
    }

    private static String messages(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable one = error; one != null; one = one.getCause()) text.append(one.getMessage());
        return text.toString();
    }
}
