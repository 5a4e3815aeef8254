import java.util.HashSet;
import java.util.Properties;
import java.util.Set;

import org.omg.PortableServer.POAHelper;

import Interop.RootHelper;

/**
 * The JacORB peer of Corbie's interoperability tests.
 *
 * <pre>
 * Peer server [--style plain|dsi] [property=value]...
 *                                            prints "ior IOR:..." and "ready"; ends when stdin closes
 * Peer client REFERENCE [--feature NAME]... [--bulk OCTETS] [--restart] [property=value]...
 * </pre>
 */
public final class Peer {
    private Peer() {}

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        p.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        p.setProperty("jacorb.implname", "corbie-interop");
        p.setProperty("OAIAddr", "127.0.0.1");
        p.setProperty("jacorb.log.default.verbosity", "1");
        p.setProperty("jacorb.orb.print_version", "off");
        p.setProperty("jacorb.native_char_codeset", "UTF8");
        p.setProperty("jacorb.connection.client.pending_reply_timeout", "60000");
        // Oneways come faster than they are served: from stock it refuses more than 100 waiting requests.
        p.setProperty("jacorb.poa.queue_max", "10000");
        p.setProperty("jacorb.poa.queue_wait", "on");
        p.setProperty("org.omg.PortableInterceptor.ORBInitializerClass.Forwarding", "Forwarding");
        p.setProperty("jacorb.retries", "1");
        p.setProperty("jacorb.retry_interval", "100");
        Set<String> features = new HashSet<>();
        int bulk = 10 << 20;
        boolean restart = false, bidirectional = false;
        for (int i = 1; i < args.length; i++) {
            if (args[i].equals("--feature")) features.add(args[++i]);
            else if (args[i].equals("--bulk")) bulk = Integer.parseInt(args[++i]);
            else if (args[i].equals("--style")) Servants.dynamicCalls = args[++i].equals("dsi");
            else if (args[i].equals("--restart")) restart = true;
            else if (args[i].equals("--bidirectional")) bidirectional = true;
            else if (args[i].matches("[\\w.]+=.*")) p.setProperty(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
        }
        if (features.contains("tls_old_versions")) TlsAttacks.allowOldVersions();
        // The code sets are read once for each virtual machine, and from the system's properties.
        if (bidirectional)
            p.setProperty("org.omg.PortableInterceptor.ORBInitializerClass.bidir_init",
                "org.jacorb.orb.giop.BiDirConnectionInitializer");
        for (String name : p.stringPropertyNames()) System.setProperty(name, p.getProperty(name));
        org.omg.CORBA.ORB orb = org.omg.CORBA.ORB.init(new String[0], p);
        Values.orb = orb;
        // JacORB registers its own when it first delivers an exception to a handler of this process.
        ((org.omg.CORBA_2_3.ORB) orb).register_value_factory("IDL:omg.org/Messaging/ExceptionHolder:1.0",
            in -> in.read_value(new org.jacorb.orb.ExceptionHolderImpl((org.jacorb.orb.ORB) orb)));
        Servants.root = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        Servants.root.the_POAManager().activate();
        if (bidirectional) Servants.root = bidirectional(orb, Servants.root);
        int status;
        try {
            status = args[0].equals("server") ? serve(orb) : call(orb, args[1], features, bulk, restart);
        } catch (Exception e) {
            System.out.println("FATAL " + e);
            e.printStackTrace();
            status = 3;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private static org.omg.PortableServer.POA bidirectional(org.omg.CORBA.ORB orb, org.omg.PortableServer.POA root)
        throws Exception {
        org.omg.CORBA.Any both = orb.create_any();
        org.omg.BiDirPolicy.BidirectionalPolicyValueHelper.insert(both, org.omg.BiDirPolicy.BOTH.value);
        org.omg.CORBA.Policy[] policies = {
            orb.create_policy(org.omg.BiDirPolicy.BIDIRECTIONAL_POLICY_TYPE.value, both),
            root.create_implicit_activation_policy(
                org.omg.PortableServer.ImplicitActivationPolicyValue.IMPLICIT_ACTIVATION),
        };
        return root.create_POA("bidirectional", root.the_POAManager(), policies);
    }

    private static int serve(org.omg.CORBA.ORB orb) throws Exception {
        org.omg.CORBA.Object root = Servants.activated(new Servants.RootServant());
        String ior = orb.object_to_string(root);
        // The plain object key of corbaloc:iiop:host:port/InteropRoot
        ((org.jacorb.orb.ORB) orb).addObjectKey("InteropRoot", ior);
        System.out.println("ior " + ior);
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        return 0;
    }

    private static int call(org.omg.CORBA.ORB orb, String reference, Set<String> features, int bulk, boolean restart)
        throws java.io.IOException {
        Interop.Root root = RootHelper.narrow(orb.string_to_object(reference));
        return new Client(root, bulk).run(features, restart) == 0 ? 0 : 1;
    }
}
