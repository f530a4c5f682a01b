package ignitekafka.backlog;

import org.apache.ignite.services.Service;
import org.apache.ignite.services.ServiceContext;

/**
 * A service for all versions of {@link IgniteVersions}: up to Ignite 2.12 a service must have the methods with a
 * context, and later versions still call them, although they have others without one.
 */
@SuppressWarnings("deprecation")
abstract class NodeService implements Service {
    private static final long serialVersionUID = 1;

    /** Called before {@link #run}. */
    void begin() {
        // Nothing to do.
    }

    /** The work of the service; it may return before the service ends. */
    abstract void run() throws InterruptedException;

    /** Called when the service is undeployed or its node stops. */
    void end() {
        // Nothing to do.
    }

    @Override
    public final void init(ServiceContext context) {
        begin();
    }

    @Override
    public final void execute(ServiceContext context) throws InterruptedException {
        run();
    }

    @Override
    public final void cancel(ServiceContext context) {
        end();
    }
}
