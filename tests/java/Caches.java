import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.cache.expiry.ExpiryPolicy;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheKeyConfiguration;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheRebalanceMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.PartitionLossPolicy;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.QueryIndex;
import org.apache.ignite.cache.QueryIndexType;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.ClientCacheConfiguration;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.internal.processors.platform.cache.expiry.PlatformExpiryPolicy;

/**
 * Configurations of caches as a Java client makes and reads them. Usage, after host:port: make cache: a cache with no
 * property at its default. show cache ...: each configuration in one line, without its name. sql statement ...: rows
 * with column names. get cache class text ...: whether get and containsKey find these keys: cache, key, value.
 */
public class Caches {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        try (IgniteClient client = Ignition.startClient(new ClientConfiguration().setAddresses(args[0]))) {
            List<String> rest = Arrays.asList(args).subList(2, args.length);
            switch (args[1]) {
                case "make":
                    client.createCache(configuration(rest.get(0)));
                    break;
                case "show":
                    for (String cache : rest)
                        OUT.println(text(client.cache(cache).getConfiguration()));
                    break;
                case "sql":
                    for (String statement : rest) sql(client.query(new SqlFieldsQuery(statement)));
                    break;
                default:
                    for (String key : rest.subList(2, rest.size())) get(client, rest.get(0), key(rest.get(1), key));
            }
        }
    }

    private static ClientCacheConfiguration configuration(String name) {
        LinkedHashMap<String, String> fields = new LinkedHashMap<>();
        fields.put("region", "java.lang.String");
        fields.put("id", "java.lang.Integer");
        fields.put("name", "java.lang.String");
        fields.put("pay", "java.math.BigDecimal");
        QueryIndex index = new QueryIndex();
        LinkedHashMap<String, Boolean> order = new LinkedHashMap<>();
        order.put("pay", false);
        order.put("name", true);
        index.setFields(order).setName("by_pay").setInlineSize(33);
        QueryEntity entity = new QueryEntity("acme.Key", "acme.Person")
                .setTableName("PERSONS")
                .setFields(fields)
                .setKeyFields(new TreeSet<>(Arrays.asList("region", "id")))
                .setNotNullFields(new TreeSet<>(Collections.singleton("name")))
                .setDefaultFieldValues(new TreeMap<>(Map.of("name", "nobody")))
                .setFieldsPrecision(new TreeMap<>(Map.of("name", 40, "pay", 12)))
                .setFieldsScale(new TreeMap<>(Map.of("pay", 3)))
                .setAliases(new TreeMap<>(Map.of("pay", "wages")))
                .setIndexes(Arrays.asList(index, new QueryIndex(Arrays.asList("id"), QueryIndexType.SORTED)));
        return new ClientCacheConfiguration()
                .setName(name)
                .setCacheMode(CacheMode.PARTITIONED)
                .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
                .setBackups(2)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.PRIMARY_SYNC)
                .setCopyOnRead(false)
                .setReadFromBackup(false)
                .setOnheapCacheEnabled(true)
                .setQueryEntities(entity)
                .setQueryParallelism(3)
                .setQueryDetailMetricsSize(7)
                .setSqlSchema("payroll")
                .setSqlIndexMaxInlineSize(77)
                .setSqlEscapeAll(false)
                .setMaxQueryIteratorsCount(99)
                .setRebalanceMode(CacheRebalanceMode.SYNC)
                .setRebalanceOrder(4)
                .setRebalanceTimeout(8_000)
                .setGroupName("wages")
                .setKeyConfiguration(new CacheKeyConfiguration("acme.Key", "region"))
                .setDefaultLockTimeout(1_234)
                .setMaxConcurrentAsyncOperations(17)
                .setPartitionLossPolicy(PartitionLossPolicy.READ_WRITE_SAFE)
                .setEagerTtl(false)
                .setStatisticsEnabled(true)
                .setExpiryPolicy(new PlatformExpiryPolicy(86_400_000, 172_800_000, -2));
    }

    private static String text(ClientCacheConfiguration cache) {
        List<Object> parts = Arrays.asList(
                cache.getCacheMode(),
                cache.getAtomicityMode(),
                cache.getBackups(),
                cache.getWriteSynchronizationMode(),
                cache.isCopyOnRead(),
                cache.isReadFromBackup(),
                cache.isOnheapCacheEnabled(),
                cache.getDataRegionName(),
                cache.getQueryParallelism(),
                cache.getQueryDetailMetricsSize(),
                cache.getSqlSchema(),
                cache.getSqlIndexMaxInlineSize(),
                cache.isSqlEscapeAll(),
                cache.getMaxQueryIteratorsCount(),
                cache.getRebalanceMode(),
                cache.getRebalanceOrder(),
                cache.getRebalanceDelay(),
                cache.getRebalanceTimeout(),
                cache.getRebalanceBatchSize(),
                cache.getRebalanceBatchesPrefetchCount(),
                cache.getRebalanceThrottle(),
                cache.getGroupName(),
                cache.getDefaultLockTimeout(),
                cache.getMaxConcurrentAsyncOperations(),
                cache.getPartitionLossPolicy(),
                cache.isEagerTtl(),
                cache.isStatisticsEnabled(),
                expiry(cache.getExpiryPolicy()),
                Arrays.stream(
                                cache.getKeyConfiguration() == null
                                        ? new CacheKeyConfiguration[0]
                                        : cache.getKeyConfiguration())
                        .map(key -> key.getTypeName() + "." + key.getAffinityKeyFieldName())
                        .collect(Collectors.toList()),
                Arrays.stream(cache.getQueryEntities() == null ? new QueryEntity[0] : cache.getQueryEntities())
                        .map(Caches::text)
                        .collect(Collectors.toList()));
        return parts.toString();
    }

    private static String expiry(ExpiryPolicy policy) {
        return policy == null
                ? "eternal"
                : policy.getExpiryForCreation() + " " + policy.getExpiryForUpdate() + " " + policy.getExpiryForAccess();
    }

    private static String text(QueryEntity entity) {
        return String.join(
                " ",
                entity.getKeyType(),
                entity.getValueType(),
                entity.getTableName(),
                entity.getKeyFieldName(),
                entity.getValueFieldName(),
                String.valueOf(entity.getFields()),
                sorted(entity.getKeyFields()),
                sorted(entity.getNotNullFields()),
                new TreeMap<>(entity.getDefaultFieldValues()).toString(),
                new TreeMap<>(entity.getFieldsPrecision()).toString(),
                new TreeMap<>(entity.getFieldsScale()).toString(),
                new TreeMap<>(entity.getAliases()).toString(),
                entity.getIndexes().stream()
                        .map(one -> one.getName() + one.getIndexType() + one.getInlineSize() + one.getFields())
                        .sorted()
                        .collect(Collectors.toList())
                        .toString());
    }

    private static String sorted(java.util.Set<String> names) {
        return names == null ? "[]" : new TreeSet<>(names).toString();
    }

    private static void sql(FieldsQueryCursor<List<?>> rows) throws Exception {
        for (List<?> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int n = 0; n < row.size(); n++)
                line.append(n == 0 ? "" : "\t")
                        .append(rows.getFieldName(n))
                        .append("=")
                        .append(TypeText.text(row.get(n)));
            OUT.println(line);
        }
    }

    private static Object key(String kind, String text) {
        switch (kind) {
            case "Integer":
                return Integer.valueOf(text);
            case "Long":
                return Long.valueOf(text);
            case "UUID":
                return UUID.fromString(text);
            default:
                return text;
        }
    }

    private static void get(IgniteClient client, String cache, Object key) throws Exception {
        Object value = client.cache(cache).get(key);
        boolean found = client.cache(cache).containsKey(key);
        OUT.println(cache + "\t" + TypeText.text(key) + "\t" + (found ? TypeText.text(value) : "absent"));
    }
}
