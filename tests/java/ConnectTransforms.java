import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Applies any of Kafka's transforms to records, or tests them with a predicate.
 *
 * <p>A request has "class", "properties", "sink", the schemas "key_schema" and "value_schema", "headers" as pairs of
 * name and schema, and "rows": [topic, partition, offset, timestamp, key, value, [header value, ...]]. The answer has
 * "schemas", and "rows": null for a dropped record, true or false of a predicate, {"exception", "message"}, or [topic,
 * partition, timestamp, key schema, key, value schema, value, [[name, schema, value], ...]], where a schema is its
 * place in "schemas". A value without a schema is JSON.
 */
public class ConnectTransforms {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final JsonConverter JSON = new JsonConverter();

    public static void main(String[] args) throws Exception {
        JSON.configure(Map.of("schemas.enable", "false"), false);
        Requests.serve(ConnectTransforms::answer);
    }

    private static void answer(JsonNode request, ObjectNode answer) throws Exception {
        Map<String, Object> properties = new HashMap<>();
        for (Map.Entry<String, JsonNode> one : request.get("properties").properties())
            properties.put(one.getKey(), one.getValue().asText());
        Object made = Class.forName(request.get("class").asText())
                .getDeclaredConstructor()
                .newInstance();
        if (made instanceof Predicate) ((Predicate<?>) made).configure(properties);
        else ((Transformation<?>) made).configure(properties);
        Schema keySchema = ConnectData.schema(request.get("key_schema"));
        Schema valueSchema = ConnectData.schema(request.get("value_schema"));
        List<Schema> headerSchemas = new ArrayList<>();
        for (JsonNode header : request.get("headers")) headerSchemas.add(ConnectData.schema(header.get(1)));
        List<Schema> schemas = new ArrayList<>();
        ArrayNode rows = answer.putArray("rows");
        for (JsonNode row : request.get("rows")) {
            ConnectHeaders headers = new ConnectHeaders();
            for (int i = 0; i < headerSchemas.size(); i++)
                headers.add(
                        request.get("headers").get(i).get(0).asText(),
                        value(headerSchemas.get(i), row.get(6).get(i)),
                        headerSchemas.get(i));
            Object key = value(keySchema, row.get(4));
            Object value = value(valueSchema, row.get(5));
            if (request.get("sink").asBoolean())
                rows.add(result(
                        made,
                        new SinkRecord(
                                row.get(0).asText(),
                                row.get(1).asInt(),
                                keySchema,
                                key,
                                valueSchema,
                                value,
                                row.get(2).asLong(),
                                time(row),
                                TimestampType.CREATE_TIME,
                                headers),
                        schemas));
            else
                rows.add(result(
                        made,
                        new SourceRecord(
                                null,
                                null,
                                row.get(0).asText(),
                                null,
                                keySchema,
                                key,
                                valueSchema,
                                value,
                                time(row),
                                headers),
                        schemas));
        }
        ArrayNode described = answer.putArray("schemas");
        for (Schema schema : schemas) described.add(ConnectData.described(schema));
    }

    private static Long time(JsonNode row) {
        return row.get(3).isNull() ? null : Long.valueOf(row.get(3).asLong());
    }

    private static Object value(Schema schema, JsonNode node) throws Exception {
        if (schema != null) return ConnectData.value(schema, node);
        return node.isNull()
                ? null
                : JSON.toConnectData("topic", MAPPER.writeValueAsBytes(node)).value();
    }

    @SuppressWarnings("unchecked")
    private static <R extends ConnectRecord<R>> JsonNode result(Object made, R record, List<Schema> schemas)
            throws Exception {
        try {
            if (made instanceof Predicate)
                return MAPPER.getNodeFactory().booleanNode(((Predicate<R>) made).test(record));
            R found = ((Transformation<R>) made).apply(record);
            return found == null ? MAPPER.nullNode() : described(found, schemas);
        } catch (RuntimeException error) {
            ObjectNode node = MAPPER.createObjectNode();
            return node.put("exception", error.getClass().getName()).put("message", error.getMessage());
        }
    }

    private static <R extends ConnectRecord<R>> JsonNode described(R found, List<Schema> schemas) throws Exception {
        ArrayNode node = MAPPER.createArrayNode();
        node.add(found.topic()).add(found.kafkaPartition()).add(found.timestamp());
        node.add(place(found.keySchema(), schemas)).add(exact(found.keySchema(), found.key()));
        node.add(place(found.valueSchema(), schemas)).add(exact(found.valueSchema(), found.value()));
        ArrayNode headers = node.addArray();
        for (Header header : found.headers())
            headers.addArray()
                    .add(header.key())
                    .add(place(header.schema(), schemas))
                    .add(exact(header.schema(), header.value()));
        return node;
    }

    private static int place(Schema schema, List<Schema> schemas) {
        for (int i = 0; i < schemas.size(); i++)
            if (schemas.get(i) == schema || (schema != null && schema.equals(schemas.get(i)))) return i;
        schemas.add(schema);
        return schemas.size() - 1;
    }

    private static JsonNode exact(Schema schema, Object value) throws Exception {
        // a whole Date cast to INT32 keeps the name of the schema, and is an Integer: of days, as Connect stores a Date
        if (schema != null && value instanceof Integer && Date.LOGICAL_NAME.equals(schema.name()))
            value = Date.toLogical(schema, (Integer) value);
        if (schema != null || value == null) return ConnectData.exact(schema, value);
        if (value instanceof java.util.Date)
            return MAPPER.getNodeFactory().numberNode(((java.util.Date) value).getTime());
        if (value instanceof Map && ((Map<?, ?>) value).values().stream().anyMatch(java.util.Date.class::isInstance)) {
            Map<Object, Object> times = new HashMap<>((Map<?, ?>) value);
            times.replaceAll((name, one) ->
                    one instanceof java.util.Date ? Long.valueOf(((java.util.Date) one).getTime()) : one);
            value = times;
        }
        return MAPPER.readTree(JSON.fromConnectData("topic", null, value));
    }
}
