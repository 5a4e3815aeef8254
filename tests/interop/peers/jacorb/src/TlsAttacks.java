import java.io.FileInputStream;
import java.io.IOException;
import java.security.KeyStore;
import java.security.Security;
import java.util.concurrent.atomic.AtomicInteger;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

import org.jacorb.orb.Delegate;
import org.jacorb.orb.etf.ProfileBase;
import org.omg.CORBA.portable.ObjectImpl;
import org.omg.SSLIOP.SSL;
import org.omg.SSLIOP.SSLHelper;
import org.omg.SSLIOP.TAG_SSL_SEC_TRANS;

/**
 * What a client of bad faith tries at the server's port of TLS, with a good certificate. A feature passes when the
 * server refuses it, and says so.
 */
final class TlsAttacks {
    interface Feature {
        void run() throws Exception;
    }

    interface Adder {
        void add(String name, Feature feature);
    }

    private static final int PATIENCE = 20_000;
    private final Interop.Root root;

    TlsAttacks(Interop.Root root) {
        this.root = root;
    }

    /** Lets this virtual machine speak what Java has long refused to speak; to be called before it speaks at all. */
    static void allowOldVersions() {
        Security.setProperty("jdk.tls.disabledAlgorithms", "");
    }

    void addTo(Adder features) {
        features.add("tls_old_versions", this::oldVersions);
        features.add("tls_renegotiation", this::renegotiation);
    }

    private void oldVersions() throws Exception {
        for (String version : new String[] {"TLSv1", "TLSv1.1"})
            try (SSLSocket socket = connected(version)) {
                socket.startHandshake();
                throw new Values.Different("the server speaks " + version);
            } catch (SSLException e) {
                // What was offered has neither a version nor a cipher suite that the server takes.
                expect(e, "Received fatal alert: (protocol_version|handshake_failure)");
            }
    }

    private void renegotiation() throws Exception {
        AtomicInteger handshakes = new AtomicInteger();
        try (SSLSocket socket = connected("TLSv1.2")) {
            socket.addHandshakeCompletedListener(event -> handshakes.incrementAndGet());
            socket.startHandshake();
            socket.startHandshake();
            socket.getInputStream().read();
            throw new Values.Different("there were " + handshakes + " handshakes");
        } catch (SSLException e) {
            expect(e, ".*no_renegotiation");
        }
    }

    private static void expect(IOException e, String alert) {
        if (!String.valueOf(e.getMessage()).matches(alert))
            throw new Values.Different("the server did not say " + alert + ", but: " + e);
    }

    private SSLSocket connected(String version) throws Exception {
        ProfileBase profile =
            (ProfileBase) ((Delegate) ((ObjectImpl) root)._get_delegate()).getParsedIOR().getEffectiveProfile();
        SSL ssl = (SSL) profile.getComponent(TAG_SSL_SEC_TRANS.value, SSLHelper.class);
        SSLSocket socket = (SSLSocket) context().getSocketFactory().createSocket("127.0.0.1", ssl.port & 0xffff);
        socket.setEnabledProtocols(new String[] {version});
        socket.setSoTimeout(PATIENCE);
        return socket;
    }

    private static SSLContext context() throws Exception {
        char[] password = System.getProperty("jacorb.security.keystore_password").toCharArray();
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (FileInputStream file = new FileInputStream(System.getProperty("jacorb.security.keystore"))) {
            store.load(file, password);
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, password);
        TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trusted.getTrustManagers(), null);
        return context;
    }
}
