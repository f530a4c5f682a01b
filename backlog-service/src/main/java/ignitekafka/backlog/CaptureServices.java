package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FOREIGN_SERVICE;
import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.service.LazyServiceConfiguration;
import org.apache.ignite.internal.processors.service.ServiceInfo;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * The services of the cluster, and which of them is a connector's {@link CaptureService}: one of its name may be
 * anybody's.
 */
final class CaptureServices {
    private CaptureServices() {
        // Static methods only.
    }

    /** Refuses a connector whose service's name is that of a service which is not its own. */
    static void check(GridKernalContext ctx, ConnectorSettings settings) {
        ServiceInfo service = find(ctx, settings.serviceName);

        if (service != null && !settings.connector.equals(connector(ctx, service)))
            throw new BacklogException(
                    FOREIGN_SERVICE,
                    "service '" + settings.serviceName + "', which would capture for connector '" + settings.connector
                            + "', is there already and is " + whose(ctx, service) + "; "
                            + ConnectorSettings.SERVICE_NAME + " gives the first part of its name");
    }

    /** Whether a service of that name is there, and this connector's. */
    static boolean mine(GridKernalContext ctx, ConnectorSettings settings) {
        ServiceInfo service = find(ctx, settings.serviceName);

        return service != null && settings.connector.equals(connector(ctx, service));
    }

    private static String whose(GridKernalContext ctx, ServiceInfo service) {
        String connector = connector(ctx, service);

        return connector == null ? "another program's" : "that of connector '" + connector + '\'';
    }

    private static ServiceInfo find(GridKernalContext ctx, String name) {
        for (ServiceDescriptor service : ctx.service().serviceDescriptors()) {
            if (service.name().equals(name)) return (ServiceInfo) service;
        }

        return null;
    }

    /** The connector for which a service captures, or null: it is another program's. */
    private static String connector(GridKernalContext ctx, ServiceInfo service) {
        LazyServiceConfiguration configuration = service.configuration();

        if (!CaptureService.class.getName().equals(configuration.serviceClassName())) return null;

        try {
            CaptureService deployed = U.unmarshal(
                    ctx.marshallerContext().jdkMarshaller(),
                    configuration.serviceBytes(),
                    U.resolveClassLoader(null, ctx.config()));

            return deployed.connector();
        } catch (IgniteCheckedException e) {
            throw new BacklogException(
                    UNAVAILABLE, "service '" + service.name() + "' could not be looked at: " + e.getMessage(), e);
        }
    }
}
