package ignitekafka.backlog;

import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.persistence.DataRegion;
import org.apache.ignite.internal.util.typedef.internal.U;

/** How full the memory region of a backlog is on this node, as a fraction from 0 to 1. */
final class RegionFill {
    /** Units are given up above this fill level. */
    static final double LIMIT = 0.8;

    private final GridKernalContext ctx;
    private final String name;

    RegionFill(GridKernalContext ctx, String name) {
        this.ctx = ctx;
        this.name = name;
    }

    /** The fraction of the region that is in use. */
    double used() {
        return fractionOf(ctx.grid().dataRegionMetrics(name).getTotalUsedPages()
                * (long) region().pageMemory().systemPageSize());
    }

    /** The fraction of the region that so many bytes take. */
    double fractionOf(long bytes) {
        return (double) bytes / region().config().getMaxSize();
    }

    private DataRegion region() {
        try {
            return ctx.cache().context().database().dataRegion(name);
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }
}
