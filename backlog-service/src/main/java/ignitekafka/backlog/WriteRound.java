package ignitekafka.backlog;

import ignitekafka.backlog.UnitBuffer.Held;
import java.util.Deque;
import java.util.List;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheContext;

/**
 * Selects the batches that a node writes together, bounded by entries and by room in the memory region.
 *
 * <p>The primary node of a unit writes at once. A backup holds changes for {@value #HOLD_MS} ms and then writes those
 * that are not in the backlog yet; when it becomes primary, with its next round. So a change costs one write, and is
 * lost only when all owners of its partition die.
 */
final class WriteRound {
    static final long HOLD_MS = 2_000;

    /** Entries of one round; bounds the data in flight to the cache. */
    static final int ENTRIES = 10_000;

    /** Fraction of the region for one round; the fill level is measured before each. */
    private static final double REGION_FRACTION = 1.0 / 64;

    private final GridKernalContext ctx;
    private final CaptureBuffer buffer;
    private final RegionFill region;
    private final String regionName;

    WriteRound(GridKernalContext ctx, CaptureBuffer buffer, RegionFill region, String regionName) {
        this.ctx = ctx;
        this.buffer = buffer;
        this.region = region;
        this.regionName = regionName;
    }

    /** Gives up all units with unwritten changes if the region has no room. */
    void relieveRegion() {
        if (region.used() > RegionFill.LIMIT) buffer.dirty().forEach(this::giveUp);
    }

    private void giveUp(UnitBuffer unit) {
        buffer.giveUp(unit, "region '" + regionName + "' is filled to " + RegionFill.LIMIT);
    }

    /**
     * Moves what is to be written now from {@code due} to {@code batches}.
     *
     * @param all Whether to include the changes that a backup holds.
     */
    void collect(Deque<UnitBuffer> due, boolean all, List<UnitBuffer.Batch> batches) {
        long nowMs = System.currentTimeMillis();
        double before = region.used();
        double more = 0;

        for (int entries = 0; entries < ENTRIES && more < REGION_FRACTION && !due.isEmpty(); ) {
            UnitBuffer unit = due.poll();

            if (isDestroyed(unit)) {
                buffer.remove(unit);

                continue;
            }

            ClusterNode primary = primary(unit);

            if (!isDue(unit, primary, all, nowMs)) continue;

            more += region.fractionOf(unit.bytes());

            if (before + more > RegionFill.LIMIT) {
                giveUp(unit);

                continue;
            }

            UnitBuffer.Batch batch = drain(unit, primary);

            batches.add(batch);
            entries += batch.entries;
        }
    }

    /** Whether this node is primary, or a backup that has held the changes long enough; notes the primary if not. */
    private boolean isDue(UnitBuffer unit, ClusterNode primary, boolean all, long nowMs) {
        if (primary != null && primary.isLocal()) return true;

        if (unit.heldFor == null) unit.heldFor = primary == null ? ctx.localNodeId() : primary.id();

        return all || nowMs - unit.oldestMs() >= HOLD_MS;
    }

    private UnitBuffer.Batch drain(UnitBuffer unit, ClusterNode primary) {
        buffer.dirty().remove(unit);

        UnitBuffer.Batch batch = unit.drain();

        if (unit.heldFor != null)
            batch.held = primary != null && primary.id().equals(unit.heldFor) ? Held.FOR_PRIMARY : Held.PRIMARY_CHANGED;

        // Expiry is no update: a primary that is alive has written it itself.
        if (batch.held == Held.FOR_PRIMARY) batch.expired.clear();

        unit.heldFor = null;

        return batch;
    }

    /** The primary node of the unit, or null if it is unknown. */
    private ClusterNode primary(UnitBuffer unit) {
        GridCacheContext<?, ?> cache = ctx.cache().context().cacheContext(unit.unit.cacheId);
        AffinityTopologyVersion version = ctx.cache().context().exchange().readyAffinityVersion();

        return cache == null ? null : cache.affinity().primaryByPartition(unit.unit.partition, version);
    }

    /** Whether the captured cache was destroyed; a cache that is only deactivated keeps its deployment id. */
    private boolean isDestroyed(UnitBuffer unit) {
        DynamicCacheDescriptor cache = ctx.cache().cacheDescriptor(unit.cache);

        return cache == null || !cache.deploymentId().equals(unit.deployment());
    }
}
