package ignitekafka.backlog;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.util.typedef.internal.CU;
import org.apache.ignite.internal.util.typedef.internal.U;

/**
 * An order of versions that none of a persistent node's entries reaches, in a file beside them. A node without
 * persistence loses its entries with its clock, and has no file.
 *
 * <p>It is no entry of the distributed metastorage, because all nodes keep the history of that.
 */
final class StoredOrder {
    private static final String FILE = "ignite-kafka-version-clock";

    private final Path file;

    /** {@code folder} is null for a node without persistence. */
    StoredOrder(File folder) {
        file = folder == null ? null : folder.toPath().resolve(FILE);
    }

    static StoredOrder of(GridKernalContext ctx) {
        try {
            boolean isPersistent = CU.isPersistenceEnabled(ctx.config());

            return new StoredOrder(
                    isPersistent ? ctx.pdsFolderResolver().resolveFolders().persistentStoreNodePath() : null);
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    boolean isKept() {
        return file != null;
    }

    /**
     * The stored order; 0 at the first start.
     *
     * @throws IgniteException The file cannot be read; the node then does not start.
     */
    long read() {
        if (file == null || !Files.exists(file)) return 0;

        try {
            byte[] bytes = Files.readAllBytes(file);

            if (bytes.length == Long.BYTES) return Chunk.buffer(bytes).getLong();
        } catch (IOException e) {
            throw new IgniteException("The order of versions cannot be read from " + file, e);
        }

        throw new IgniteException(file + " does not have " + Long.BYTES
                + " bytes. If the clock of this node was not set" + " back, remove the file");
    }

    /** Replaces the order. If the power fails, one of the last ones stays. */
    void write(long order) throws IOException {
        Path next = file.resolveSibling(FILE + ".tmp");
        ByteBuffer bytes = Chunk.buffer(new byte[Long.BYTES]).putLong(0, order);

        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            while (bytes.hasRemaining()) channel.write(bytes);

            channel.force(true);
        }

        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
