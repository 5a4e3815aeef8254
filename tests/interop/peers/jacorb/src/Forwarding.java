import org.omg.CORBA.LocalObject;
import org.omg.PortableInterceptor.ForwardRequest;
import org.omg.PortableInterceptor.ORBInitInfo;
import org.omg.PortableInterceptor.ORBInitializer;
import org.omg.PortableInterceptor.ServerRequestInfo;
import org.omg.PortableInterceptor.ServerRequestInterceptor;

/**
 * Forwards requests from a server interceptor. A servant manager that raises
 * ForwardRequest would be the usual way, but JacORB 3.9 then sends no reply: its RequestProcessor goes on
 * with a servant that is null.
 */
public final class Forwarding extends LocalObject implements ORBInitializer, ServerRequestInterceptor {
    static final String ID = "forwarded";
    static org.omg.CORBA.Object target;

    public void pre_init(ORBInitInfo info) {}

    public void post_init(ORBInitInfo info) {
        try {
            info.add_server_request_interceptor(this);
        } catch (org.omg.CORBA.UserException e) {
            throw new IllegalStateException(e);
        }
    }

    // the object id is not known here yet
    public void receive_request_service_contexts(ServerRequestInfo info) {}
    public void receive_request(ServerRequestInfo info) throws ForwardRequest {
        if (target != null && new String(info.object_id()).equals(ID)) throw new ForwardRequest(target);
    }
    public void send_reply(ServerRequestInfo info) {}
    public void send_exception(ServerRequestInfo info) {}
    public void send_other(ServerRequestInfo info) {}
    public String name() {
        return "Forwarding";
    }
    public void destroy() {}
}
