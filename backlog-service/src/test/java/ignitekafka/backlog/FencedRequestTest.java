package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.ScanQuery;
import org.junit.jupiter.api.Test;

/** Requests of fenced writes that are refused as a whole. */
class FencedRequestTest extends SharedClusterTest {
    private static final String SINK = "malformed";
    private static final int SLOT = 3;

    @Test
    void aMalformedRequestChangesNothing() {
        IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

        service().raise(SINK, FencedWrites.writer(1, 0, SLOT), new String[] {"a"});

        byte[] good = FencedWrites.request(cluster.node(0), Map.of(1, "value"));

        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);

            assertCode("MALFORMED", () -> service().write(SINK, FencedWrites.writer(1, 0, SLOT), "a", false, cut));
        }

        for (byte[] broken : new byte[][] {{101}, {102}, {-56}, {0}, {103, 1, 0}, {27, 1}}) {
            ByteBuffer out = Chunk.buffer(new byte[17 + broken.length]);

            out.putInt(1)
                    .putInt(5)
                    .putInt(broken.length)
                    .put((byte) 3)
                    .putInt(9)
                    .put(broken);
            assertCode(
                    "MALFORMED", () -> service().write(SINK, FencedWrites.writer(1, 0, SLOT), "a", false, out.array()));
        }

        assertCode("MALFORMED", () -> service().write(SINK, FencedWrites.writer(1, 0), "a", false, good));
        assertCode("MALFORMED", () -> service().generation(null));
        assertCode("MALFORMED", () -> service()
                .raise(SINK, FencedWrites.writer(1, 0, new int[10_001]), new String[] {"a"}));
        assertCode("UNKNOWN_CACHE", () -> service()
                .write(SINK, FencedWrites.writer(1, 0, SLOT), "ignite-sys-cache", false, good));
        assertCode("MALFORMED", () -> service().write(SINK, FencedWrites.writer(1, 0, SLOT), null, false, good));
        assertCode("UNKNOWN_CACHE", () -> service().write(SINK, FencedWrites.writer(1, 0, SLOT), "none", false, good));
        assertCode("MALFORMED", () -> service().raise(SINK, new byte[15], new String[] {"a"}));
        assertCode("MALFORMED", () -> service().raise("", FencedWrites.writer(1, 0), new String[] {"a"}));
        assertCode("MALFORMED", () -> service().raise(SINK, FencedWrites.writer(1, 0), new String[0]));
        assertEquals(0, cache.query(new ScanQuery<>()).getAll().size());
    }
}
