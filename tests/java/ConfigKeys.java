import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.provider.EnvVarConfigProvider;
import org.apache.kafka.common.config.provider.FileConfigProvider;
import org.apache.kafka.connect.converters.BooleanConverter;
import org.apache.kafka.connect.converters.ByteArrayConverter;
import org.apache.kafka.connect.converters.IntegerConverter;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.SinkConnectorConfig;
import org.apache.kafka.connect.runtime.SourceConnectorConfig;
import org.apache.kafka.connect.runtime.TopicCreationConfig;
import org.apache.kafka.connect.runtime.distributed.Crypto;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Prints each key of Kafka Connect's own definitions as "part key", one a line, sorted. */
public class ConfigKeys {
    private static final String TRANSFORMS = "org.apache.kafka.connect.transforms.";
    private static final List<String> TRANSFORM_CLASSES = List.of(
            "Cast$Value",
            "DropHeaders",
            "ExtractField$Value",
            "Filter",
            "Flatten$Value",
            "HeaderFrom$Value",
            "HoistField$Value",
            "InsertField$Value",
            "InsertHeader",
            "MaskField$Value",
            "RegexRouter",
            "ReplaceField$Value",
            "SetSchemaMetadata$Value",
            "TimestampConverter$Value",
            "TimestampRouter",
            "ValueToKey");
    private static final List<String> PREDICATE_CLASSES =
            List.of("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches");

    public static void main(String[] args) throws Exception {
        Map<String, ConfigDef> parts = new LinkedHashMap<>();
        parts.put("worker", of(StandaloneConfig.class));
        parts.put("worker ", of(DistributedConfig.class));
        parts.put("source", SourceConnectorConfig.configDef());
        parts.put("sink", SinkConnectorConfig.configDef());
        parts.put("group", TopicCreationConfig.configDef("", (short) 1, 1));
        parts.put("json", new JsonConverter().config());
        parts.put("string", new StringConverter().config());
        parts.put("bytes", new ByteArrayConverter().config());
        parts.put("number", new IntegerConverter().config());
        parts.put("boolean", new BooleanConverter().config());
        parts.put("simple", new SimpleHeaderConverter().config());
        for (String name : TRANSFORM_CLASSES) {
            Object made = Class.forName(TRANSFORMS + name).getConstructor().newInstance();
            parts.put("transform:" + name.split("\\$")[0], ((Transformation<?>) made).config());
        }
        for (String name : PREDICATE_CLASSES) {
            Object made = Class.forName(TRANSFORMS + "predicates." + name)
                    .getConstructor()
                    .newInstance();
            parts.put("predicate:" + name, ((Predicate<?>) made).config());
        }
        parts.put("producer", ProducerConfig.configDef());
        parts.put("consumer", ConsumerConfig.configDef());
        parts.put("admin", AdminClientConfig.configDef());
        List<String> lines = new ArrayList<>();
        parts.forEach((part, keys) -> new TreeSet<>(keys.names()).forEach(key -> lines.add(part.trim() + " " + key)));
        lines.add("provider " + FileConfigProvider.ALLOWED_PATHS_CONFIG);
        lines.add("provider " + EnvVarConfigProvider.ALLOWLIST_PATTERN_CONFIG);
        new TreeSet<>(lines).forEach(System.out::println);
    }

    /** The definition of a worker, which its class keeps private. */
    private static ConfigDef of(Class<?> worker) throws Exception {
        for (Field field : worker.getDeclaredFields()) {
            if (field.getType() == ConfigDef.class) {
                field.setAccessible(true);
                return (ConfigDef) field.get(null);
            }
        }
        for (Method method : worker.getDeclaredMethods()) {
            if (method.getReturnType() == ConfigDef.class && method.getParameterCount() == 1) {
                method.setAccessible(true);
                return (ConfigDef) method.invoke(null, Crypto.SYSTEM);
            }
        }
        throw new IllegalStateException(worker + " has no definition");
    }
}
