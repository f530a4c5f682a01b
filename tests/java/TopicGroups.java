import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.runtime.SourceConnectorConfig;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.util.TopicCreationGroup;

/**
 * Reads [properties of a source connector, topics] as JSON from each line. Prints [[partitions, replication factor,
 * configs] of each topic] as Kafka Connect makes it, {"error": …} with the message of Connect's exception, or [] if
 * Connect makes no topics.
 */
public class TopicGroups {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Plugins plugins = new Plugins(Map.of());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<Object> request = json.readValue(line, new TypeReference<List<Object>>() {});
            Map<String, String> properties = new HashMap<>(Map.of("name", "c", "connector.class", "C"));
            ((Map<?, ?>) request.get(0)).forEach((name, value) -> properties.put((String) name, (String) value));
            System.out.println(json.writeValueAsString(answer(plugins, properties, (List<?>) request.get(1))));
        }
    }

    private static Object answer(Plugins plugins, Map<String, String> properties, List<?> topics) {
        try {
            SourceConnectorConfig config = new SourceConnectorConfig(plugins, properties, true);
            Map<String, TopicCreationGroup> groups = new LinkedHashMap<>(TopicCreationGroup.configuredGroups(config));
            if (groups.isEmpty()) {
                return List.of();
            }
            TopicCreationGroup last = groups.remove("default");
            return topics.stream()
                    .map(topic -> made(groups, last, (String) topic))
                    .toList();
        } catch (ConfigException | java.util.regex.PatternSyntaxException refused) {
            return Map.of("error", refused.getMessage());
        }
    }

    private static List<Object> made(Map<String, TopicCreationGroup> groups, TopicCreationGroup last, String name) {
        TopicCreationGroup group = groups.values().stream()
                .filter(one -> one.matches(name))
                .findFirst()
                .orElse(last);
        NewTopic topic = group.newTopic(name);
        return List.of(topic.numPartitions(), topic.replicationFactor(), topic.configs());
    }
}
