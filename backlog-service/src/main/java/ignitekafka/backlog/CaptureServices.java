package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FOREIGN_SERVICE;
import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.service.LazyServiceConfiguration;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.services.ServiceDescriptor;

/** Finds the {@link CaptureService} of a connector among the cluster's services, which may use any name. */
final class CaptureServices {
    private CaptureServices() {
        // Static methods only.
    }

    /** Refuses a connector whose service name is in use by another service. */
    static void check(GridKernalContext ctx, ConnectorSettings settings) {
        ServiceDescriptor service = find(ctx, settings.serviceName);

        if (service != null && !settings.connector.equals(connector(ctx, service)))
            throw new BacklogException(
                    FOREIGN_SERVICE,
                    "service '" + settings.serviceName + "' of connector '" + settings.connector
                            + "' cannot be deployed: a service of this name exists and belongs to "
                            + ownerOf(ctx, service) + "; " + ConnectorSettings.SERVICE_NAME
                            + " sets the first part of the name");
    }

    /** Whether the connector's service is deployed. */
    static boolean isOwn(GridKernalContext ctx, ConnectorSettings settings) {
        ServiceDescriptor service = find(ctx, settings.serviceName);

        return service != null && settings.connector.equals(connector(ctx, service));
    }

    private static String ownerOf(GridKernalContext ctx, ServiceDescriptor service) {
        String connector = connector(ctx, service);

        return connector == null ? "another program" : "connector '" + connector + '\'';
    }

    private static ServiceDescriptor find(GridKernalContext ctx, String name) {
        for (ServiceDescriptor service : ctx.grid().services().serviceDescriptors()) {
            if (service.name().equals(name)) return service;
        }

        return null;
    }

    /** Name of the connector that a service captures for, or null for a service of another program. */
    private static String connector(GridKernalContext ctx, ServiceDescriptor service) {
        LazyServiceConfiguration configuration = IgniteVersions.configuration(service);

        if (!CaptureService.class.getName().equals(configuration.serviceClassName())) return null;

        try {
            CaptureService deployed = U.unmarshal(
                    ctx.marshallerContext().jdkMarshaller(),
                    configuration.serviceBytes(),
                    U.resolveClassLoader(null, ctx.config()));

            return deployed.connector();
        } catch (IgniteCheckedException e) {
            throw new BacklogException(
                    UNAVAILABLE, "service '" + service.name() + "' could not be read: " + e.getMessage(), e);
        }
    }
}
