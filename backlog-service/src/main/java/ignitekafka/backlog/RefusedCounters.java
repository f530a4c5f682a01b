package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.GridCacheEntryEx;
import org.apache.ignite.internal.processors.cache.GridCacheEntryRemovedException;
import org.apache.ignite.internal.processors.cache.GridCacheMvccCandidate;
import org.apache.ignite.internal.processors.cache.GridCacheOperation;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.query.continuous.CounterSkipContext;
import org.apache.ignite.internal.processors.cache.transactions.IgniteInternalTx;
import org.apache.ignite.internal.processors.cache.transactions.IgniteTxEntry;

/**
 * Update counters of writes of TRANSACTIONAL caches that a {@link ConflictRule} refuses.
 *
 * <p>A transaction takes a counter for each of its writes when it prepares. Ignite gives that of a refused write to the
 * next write of the transaction, and leaves the last counters without an update. Continuous queries pass updates in the
 * order of the counters, so they wait for these, and no program hears of the partition's later updates. Here the
 * counter is used up, as Ignite does for a removal that finds no entry. It also keeps the counters of the other writes
 * equal on primary node and backups: a backup gives each write of the transaction its counter, refused or not.
 */
final class RefusedCounters {
    private RefusedCounters() {
        // Static methods only.
    }

    /** Passes over the counter of a refused write; called by the thread that commits it, on each owner. */
    static void skip(GridCacheContext<?, ?> cache, KeyCacheObject key) {
        if (!cache.transactional()) return; // the primary node of an ATOMIC cache takes a counter only when it stores

        GridCacheEntryEx entry = cache.cache().peekEx(key);
        IgniteInternalTx tx = entry == null ? null : transaction(cache, entry);
        IgniteTxEntry write = tx == null ? null : tx.entry(entry.txKey());

        if (write == null || !hasCounter(write)) return;

        long counter = write.updateCounter(); // on a backup

        if (tx.local()) {
            if (counter != 0 || tx.txCounters(false) == null) return; // decided before: Ignite tries an entry again

            Long next = tx.txCounters(false).generateNextCounter(cache.cacheId(), key.partition());

            if (next == null) return;

            write.updateCounter(counter = next);
        } else if (counter == 0) {
            return;
        }

        CounterSkipContext skipped = cache.continuousQueries()
                .skipUpdateCounter(null, key.partition(), counter, tx.topologyVersion(), tx.local());

        // Events of the node's own queries that waited for this counter.
        if (skipped != null && skipped.processClosures() != null)
            skipped.processClosures().forEach(Runnable::run);
    }

    /** Whether the transaction took a counter for a write: not for a processor that changes nothing. */
    private static boolean hasCounter(IgniteTxEntry write) {
        return write.op() != GridCacheOperation.NOOP && !(write.op() == GridCacheOperation.TRANSFORM && write.noop());
    }

    /** The transaction that locks an entry; null if there is none any more. */
    private static IgniteInternalTx transaction(GridCacheContext<?, ?> cache, GridCacheEntryEx entry) {
        List<GridCacheMvccCandidate> candidates = new ArrayList<>();

        try {
            candidates.addAll(entry.localCandidates());
            candidates.addAll(entry.remoteMvccSnapshot());
        } catch (GridCacheEntryRemovedException e) {
            return null;
        }

        for (GridCacheMvccCandidate candidate : candidates) {
            IgniteInternalTx tx = candidate.owner() || !candidate.local()
                    ? cache.shared().tm().tx(candidate.version())
                    : null;

            if (tx != null) return tx;
        }

        return null;
    }
}
