package ignitekafka.backlog;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.failure.NoOpFailureHandler;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.logger.java.JavaLogger;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.segmentation.SegmentationPolicy;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** Ignite nodes in this process, on free loopback ports. */
final class TestCluster implements AutoCloseable {
    static final String REGION = "kafka-connect";

    /** Whether to repeat races more often; {@code make soak} sets the variable. */
    static final boolean LONG_FORM = System.getenv("SOAK_ROUNDS") != null;

    /** Settings of a capture that writes soon. */
    static final Map<String, String> FAST = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "50");

    /** Bounds a hang only: a busy machine needs minutes for what takes seconds. */
    private static final long DEADLINE_S = 300;

    private static final int FIRST_PORT = 20_000;
    private static final int PORTS = 12_000;

    /** Begins at a random port, because other processes search for free ports at the same time. */
    private static final AtomicInteger NEXT_PORT =
            new AtomicInteger(ThreadLocalRandom.current().nextInt(PORTS));

    private final TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder(true);
    private final List<Ignite> nodes = new ArrayList<>();
    private final Path directory;
    private final String name = UUID.randomUUID().toString().substring(0, 8);
    private boolean persistent;
    private boolean persistentRegion;
    private boolean region = true;
    private long regionBytes = 64L << 20;
    private boolean authentication;
    private int clientPort;
    private List<Supplier<PluginProvider<?>>> providers = List.of();
    private Map<String, String> properties = Map.of();

    TestCluster(Path directory) {
        this.directory = directory;
    }

    TestCluster persistent() {
        persistent = persistentRegion = true;

        return this;
    }

    /** Keeps caches in memory and the backlog on disk. */
    TestCluster persistentBacklog() {
        persistentRegion = true;

        return this;
    }

    TestCluster withoutRegion() {
        region = false;

        return this;
    }

    /** Enables Ignite's own authentication, which needs persistence. */
    TestCluster authentication() {
        authentication = true;

        return persistent();
    }

    /** Sets the only plugin providers of each node. */
    TestCluster providers(List<Supplier<PluginProvider<?>>> given) {
        providers = given;

        return this;
    }

    /** Sets system properties of this process while a node of the cluster starts. */
    TestCluster properties(Map<String, String> given) {
        properties = given;

        return this;
    }

    TestCluster regionBytes(long bytes) {
        regionBytes = bytes;

        return this;
    }

    TestCluster start(int count) {
        for (int i = 0; i < count; i++) startNode("node-" + i);

        if (persistentRegion) nodes.get(0).cluster().state(ClusterState.ACTIVE);

        await(() -> hasService(node(0)), "the control service");

        return this;
    }

    private static boolean hasService(Ignite node) {
        return node.services().serviceDescriptors().stream()
                .anyMatch(service -> service.name().equals(BacklogService.NAME)
                        && !service.topologySnapshot().isEmpty());
    }

    Ignite startNode(String id) {
        return start(configuration(id));
    }

    private DataStorageConfiguration storage() {
        DataRegionConfiguration main = new DataRegionConfiguration()
                .setName("default")
                .setInitialSize(16L << 20)
                .setMaxSize(128L << 20)
                .setPersistenceEnabled(persistent);
        DataStorageConfiguration storage = new DataStorageConfiguration()
                .setDefaultDataRegionConfiguration(main)
                .setWalSegmentSize(2 << 20)
                .setWalSegments(3);

        if (region)
            storage.setDataRegionConfigurations(new DataRegionConfiguration()
                    .setName(REGION)
                    .setInitialSize(16L << 20)
                    .setMaxSize(regionBytes)
                    .setPersistenceEnabled(persistentRegion));

        return storage;
    }

    IgniteConfiguration configuration(String id) {
        clientPort = freePort();

        IgniteConfiguration configuration = new IgniteConfiguration();

        if (!providers.isEmpty())
            configuration.setPluginProviders(
                    providers.stream().map(Supplier::get).toArray(PluginProvider<?>[]::new));

        return configuration
                .setAuthenticationEnabled(authentication)
                .setIgniteInstanceName(name + '-' + id)
                .setConsistentId(id)
                .setWorkDirectory(directory.resolve(id).toString())
                .setLocalHost("127.0.0.1")
                .setMetricsLogFrequency(0)
                .setGridLogger(new JavaLogger())
                .setConnectorConfiguration(null)
                .setFailureDetectionTimeout(5_000)
                .setFailureHandler(new NoOpFailureHandler())
                .setSegmentationPolicy(SegmentationPolicy.NOOP)
                .setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        .setPort(clientPort)
                        .setPortRange(0))
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setLocalPort(freePort())
                        .setLocalPortRange(0)
                        .setIpFinder(finder))
                .setCommunicationSpi(
                        new TcpCommunicationSpi().setLocalPort(freePort()).setLocalPortRange(0))
                .setDataStorageConfiguration(storage());
    }

    /**
     * Configuration of a node without the plugin, as if the jar were missing: Ignite loads the listed providers only.
     */
    IgniteConfiguration withoutJar(String id) {
        IgnitePlugin other = new IgnitePlugin() {
                    // Does nothing.
                };
        PluginProvider<?> provider = (PluginProvider<?>) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {PluginProvider.class},
                (proxy, method, arguments) -> method.getReturnType() == String.class
                        ? "other"
                        : method.getName().equals("plugin") ? other : null);

        return configuration(id).setPluginProviders(provider);
    }

    Ignite start(IgniteConfiguration configuration) {
        Ignite node;

        properties.forEach(System::setProperty);

        try {
            node = Ignition.start(configuration);
        } finally {
            properties.keySet().forEach(System::clearProperty);
        }

        synchronized (nodes) {
            nodes.add(node);
        }

        return node;
    }

    Ignite node(int index) {
        return nodes.get(index);
    }

    List<Ignite> nodes() {
        return nodes;
    }

    /** A proxy of the control service, on the first node. */
    BacklogService service() {
        return node(0).services().serviceProxy(BacklogService.NAME, BacklogService.class, false);
    }

    /** A thin client of the last started node. */
    IgniteClient thinClient() {
        return Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + clientPort));
    }

    /** The same for a user whose password equals the name. */
    IgniteClient thinClient(String user) {
        return Ignition.startClient(new ClientConfiguration()
                .setAddresses("127.0.0.1:" + clientPort)
                .setUserName(user)
                .setUserPassword(user));
    }

    /** Ends a node as a kill does: it writes nothing more. */
    @SuppressWarnings("deprecation")
    void kill(Ignite node) {
        nodes.remove(node);
        BacklogPlugin plugin = node.cluster().localNode().attribute(BacklogPluginProvider.ATTRIBUTE) == null
                ? null
                : BacklogPlugin.of(((IgniteEx) node).context());

        if (plugin != null) {
            plugin.registry().names().forEach(plugin::drop);
            plugin.shared().clear(); // versions of removed keys
        }

        ((TcpDiscoverySpi) node.configuration().getDiscoverySpi()).simulateNodeFailure();
        ((TcpCommunicationSpi) node.configuration().getCommunicationSpi()).simulateNodeFailure();
        Ignition.stop(node.name(), true);
    }

    /** Ends all nodes, in the order of their start. */
    void stop() {
        nodes.forEach(node -> Ignition.stop(node.name(), true));
        nodes.clear();
    }

    @Override
    public void close() {
        stop();
    }

    static CacheConfiguration<Object, Object> cache(String name, int backups) {
        return new CacheConfiguration<>(name).setBackups(backups).setAffinity(new RendezvousAffinityFunction(false, 8));
    }

    static Map<Object, Object> content(IgniteCache<Object, Object> cache) {
        Map<Object, Object> content = new TreeMap<>();

        for (Cache.Entry<Object, Object> entry : cache.query(new ScanQuery<>()))
            content.put(entry.getKey(), entry.getValue());

        return content;
    }

    static void await(BooleanSupplier condition, String what) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);

        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > until) throw new AssertionError("waited for " + what);

            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** A port that is free now. It is below the kernel's range for outgoing connections, so that none can take it. */
    private static int freePort() {
        for (int tried = 0; tried < PORTS; tried++) {
            int port = FIRST_PORT + Math.floorMod(NEXT_PORT.getAndIncrement(), PORTS);

            try {
                new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();

                return port;
            } catch (IOException e) {
                // In use: try the next one.
            }
        }

        throw new IllegalStateException("no port is free");
    }
}
