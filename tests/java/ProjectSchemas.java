import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaProjector;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Projects a value onto the schema of another one, as sinks of Kafka Connect with schema.compatibility do.
 *
 * <p>A request has "record" and "target" (base64), envelopes as JsonConverter writes them. The answer has "schema" and
 * "value" (see ConnectData): the schema of the target, and the record's value in it.
 */
public class ProjectSchemas {
    public static void main(String[] args) throws Exception {
        JsonConverter json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true", "converter.type", "value"));
        Requests.serve((request, answer) -> answer(request, json, answer));
    }

    private static void answer(JsonNode request, JsonConverter json, ObjectNode answer) throws Exception {
        SchemaAndValue record =
                json.toConnectData("topic", request.get("record").binaryValue());
        SchemaAndValue target =
                json.toConnectData("topic", request.get("target").binaryValue());
        Object projected = SchemaProjector.project(record.schema(), record.value(), target.schema());
        answer.set("schema", ConnectData.described(target.schema()));
        answer.set("value", ConnectData.exact(target.schema(), projected));
    }
}
