import com.google.inject.servlet.GuiceFilter;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A resource manager, a node manager, a name node and a data node in one process, on loopback, with free ports. Usage:
 * MiniYarn folder archive.
 *
 * <p>Puts the archive into /apps of HDFS, readable by all, so that the node manager unpacks it once for all
 * applications. Writes core-site.xml and yarn-site.xml of clients into folder/conf; then prints "ready" and runs until
 * it is ended.
 */
public class MiniYarn {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]), archive = Path.of(arguments[1]);
        System.setProperty("test.build.data", folder.resolve("yarn").toString());
        YarnConfiguration given = new YarnConfiguration();
        given.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
        given.setInt("dfs.replication", 1);
        given.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", 8192);
        given.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        given.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        given.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
        given.setFloat("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 99.9f);
        given.set("yarn.scheduler.capacity.root.queues", "default");
        given.set("yarn.scheduler.capacity.root.default.capacity", "100");
        given.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.9");
        // by this mark the end of a test run finds containers whose node manager was killed
        String inherited = given.get("yarn.nodemanager.env-whitelist", YarnConfiguration.DEFAULT_NM_ENV_WHITELIST);
        given.set("yarn.nodemanager.env-whitelist", inherited + ",IGNITE_KAFKA_TEST_RUN");
        given.setBoolean("yarn.log-aggregation-enable", true);
        given.set("yarn.nodemanager.remote-app-log-dir", "/logs");
        MiniDFSCluster files =
                new MiniDFSCluster.Builder(given, folder.resolve("dfs").toFile()).build();
        given.set("fs.defaultFS", files.getURI().toString());
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
        cluster.init(given);
        startWithRestOfResourceManager(cluster);
        publish(files.getFileSystem(), archive);
        cluster.waitForNodeManagersToConnect(600_000);
        Path conf = Files.createDirectories(folder.resolve("conf"));
        write(cluster.getConfig(), conf.resolve("core-site.xml"), "fs.defaultFS"::equals);
        write(cluster.getConfig(), conf.resolve("yarn-site.xml"), MiniYarn::isOfClients);
        System.out.println("ready");
        Thread.currentThread().join();
    }

    /**
     * Both daemons have a web app, and Guice has one pipeline of servlets in a process, which the later one replaces:
     * this puts that of the resource manager, which is the first service, back.
     */
    private static void startWithRestOfResourceManager(MiniYARNCluster cluster) throws ReflectiveOperationException {
        Field pipeline = GuiceFilter.class.getDeclaredField("pipeline");
        pipeline.setAccessible(true);
        AtomicReference<Object> ofResourceManager = new AtomicReference<>();
        cluster.getServices().get(0).registerServiceListener(service -> {
            try {
                if (service.isInState(Service.STATE.STARTED)) ofResourceManager.set(pipeline.get(null));
            } catch (IllegalAccessException error) {
                throw new IllegalStateException(error);
            }
        });
        cluster.start();
        pipeline.set(null, ofResourceManager.get());
    }

    private static void publish(FileSystem files, Path archive) throws IOException {
        org.apache.hadoop.fs.Path apps = new org.apache.hadoop.fs.Path("/apps");
        FileSystem.mkdirs(files, apps, new FsPermission((short) 0755));
        files.copyFromLocalFile(new org.apache.hadoop.fs.Path(archive.toUri()), apps);
        files.setPermission(
                new org.apache.hadoop.fs.Path(apps, archive.getFileName().toString()), new FsPermission((short) 0644));
    }

    private static boolean isOfClients(String name) {
        return (name.startsWith("yarn.resourcemanager.") && name.endsWith("address"))
                || name.startsWith("yarn.log-aggregation")
                || name.startsWith("yarn.nodemanager.remote-app-log-dir");
    }

    private static void write(Configuration all, Path file, Predicate<String> chosen) throws IOException {
        Configuration some = new Configuration(false);
        for (Map.Entry<String, String> entry : all) {
            if (chosen.test(entry.getKey())) some.set(entry.getKey(), all.get(entry.getKey()));
        }
        some.setInt("yarn.resourcemanager.connect.max-wait.ms", 60_000); // an orphan ends with its cluster
        try (OutputStream out = Files.newOutputStream(file)) {
            some.writeXml(out);
        }
    }
}
