import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/**
 * Converts with any of Kafka's converters, of values or of headers.
 *
 * <p>A request has "class", "properties" and either "schema" and "value" (see ConnectData), to be written, or "bytes"
 * (base64), to be read. The answer has "bytes" (base64 or null), or "schema" and "value".
 */
public class ConnectConverters {
    public static void main(String[] args) throws Exception {
        Requests.serve(ConnectConverters::answer);
    }

    private static void answer(JsonNode request, ObjectNode answer) throws Exception {
        Object made = Class.forName(request.get("class").asText())
                .getDeclaredConstructor()
                .newInstance();
        Map<String, Object> properties = new HashMap<>();
        for (Map.Entry<String, JsonNode> one : request.get("properties").properties())
            properties.put(one.getKey(), one.getValue().asText());
        if (request.has("bytes")) {
            SchemaAndValue found = read(made, properties, request.get("bytes").binaryValue());
            answer.set("schema", ConnectData.described(found.schema()));
            answer.set("value", ConnectData.exact(found.schema(), found.value()));
            return;
        }
        Schema schema = ConnectData.schema(request.get("schema"));
        Object value = ConnectData.value(schema, request.get("value"));
        answer.put("bytes", write(made, properties, schema, value));
    }

    private static SchemaAndValue read(Object made, Map<String, Object> properties, byte[] bytes) {
        if (made instanceof Converter)
            return configured((Converter) made, properties).toConnectData("topic", bytes);
        SchemaAndValue found = configured((HeaderConverter) made, properties).toConnectHeader("topic", "header", bytes);
        return found == null ? SchemaAndValue.NULL : found;
    }

    private static byte[] write(Object made, Map<String, Object> properties, Schema schema, Object value) {
        if (made instanceof Converter)
            return configured((Converter) made, properties).fromConnectData("topic", schema, value);
        return configured((HeaderConverter) made, properties).fromConnectHeader("topic", "header", schema, value);
    }

    private static Converter configured(Converter converter, Map<String, Object> properties) {
        converter.configure(properties, false);
        return converter;
    }

    private static HeaderConverter configured(HeaderConverter converter, Map<String, Object> properties) {
        properties.put("converter.type", "header");
        converter.configure(properties);
        return converter;
    }
}
