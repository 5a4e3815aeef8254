import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.omg.CORBA.COMM_FAILURE;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.OBJECT_NOT_EXIST;
import org.omg.CORBA.OBJ_ADAPTER;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.TRANSIENT;

import Adapters.*;
import Interop.Counter;
import Interop.Top;

/**
 * The client side of adapters.idl, and of the restart of a server. Features of the same names are in
 * adapter_client.cc and src/peer.
 */
final class AdapterClient {
    private final Interop.Root root;

    AdapterClient(Interop.Root root) {
        this.root = root;
    }

    interface Feature {
        void run() throws Exception;
    }
    interface Add {
        void feature(String name, Feature feature);
    }

    void addTo(Add add) {
        add.feature("poa_kept", this::kept);
        add.feature("poa_stable", this::stable);
        add.feature("poa_default_servant", this::defaultServant);
        add.feature("poa_locator", this::locator);
        add.feature("poa_activator", this::activator);
        add.feature("poa_ended", this::ended);
        add.feature("poa_holding", this::holding);
        add.feature("poa_discarding", this::discarding);
        add.feature("corbaloc_keys", this::corbalocKeys);
        add.feature("corbaloc_names", this::corbalocNames);
    }

    // ---------------------------------------------------------------- what is looked at

    private Yard yard() {
        Yard yard = YardHelper.narrow(root.get_yard());
        expect(yard != null, "the server has no Yard");
        return yard;
    }

    private Item item(Kind which, String id) {
        return yard().get_item(which, id);
    }

    private static Item ofUrl(String url) {
        return ItemHelper.narrow(Values.orb.string_to_object(url));
    }

    private static void expect(boolean condition, String what) {
        if (!condition) throw new Values.Different(what);
    }

    private static <E extends SystemException> E raised(Class<E> kind, Runnable call) {
        try {
            call.run();
        } catch (SystemException e) {
            if (!kind.isInstance(e)) throw e;
            Values.check("completed", e.completed, CompletionStatus.COMPLETED_NO);
            return kind.cast(e);
        }
        throw new Values.Different(kind.getSimpleName() + ": no exception");
    }

    private static void checkGone(Item it) {
        raised(OBJECT_NOT_EXIST.class, it::calls);
        expect(it._non_existent(), "_non_existent says that it is there");
    }

    private static void checkHistory(Yard yard, String id, String wanted) throws InterruptedException {
        // Servant managers may be told of an end after the client has its reply.
        for (int i = 0; i < 500 && yard.history(id).length() < wanted.length(); i++) Thread.sleep(10);
        Values.check("history", yard.history(id), wanted);
    }

    // ---------------------------------------------------------------- objects and their ends

    private void kept() {
        Item it = item(Kind.kept, "alpha");
        Values.check("who", it.who(), "kept/alpha");
        Values.check("first", it.calls(), 1);
        Values.check("second", it.calls(), 2);
        yard().deactivate(Kind.kept, "alpha");
        checkGone(it);
    }

    private void stable() {
        Item it = item(Kind.stable, "beta");
        Values.check("who", it.who(), "stable/beta");
        Values.check("first", it.calls(), 1);
        yard().deactivate(Kind.stable, "beta");
        checkGone(it);
        Values.check("of the next servant", item(Kind.stable, "beta").calls(), 1);
        Values.check("by the first reference", it.calls(), 2);
    }

    private void ended() {
        Yard yard = yard();
        checkGone(yard.get_ended(Ending.deactivated));
        checkGone(yard.get_ended(Ending.destroyed));
        raised(OBJ_ADAPTER.class, yard.get_ended(Ending.inactive)::calls);
    }

    private void corbalocKeys() {
        String id = "cheese & ham %41/1";
        String url = yard().get_url(Kind.stable, id);
        expect(url.contains("%25"), "the per cent sign of the id is not escaped");
        Item it = ofUrl(url);
        Values.check("who", it.who(), "stable/" + id);
        Values.check("first", it.calls(), 1);
        Values.check("second", item(Kind.stable, id).calls(), 2);
    }

    private void corbalocNames() {
        Values.check("who", ofUrl(yard().get_name_url()).who(), "stable/by name");
    }

    // ---------------------------------------------------------------- servant managers

    private void defaultServant() {
        Item one = item(Kind.shared, "gamma");
        Item two = item(Kind.shared, "delta");
        Values.check("who", one.who(), "shared/gamma");
        Values.check("who", two.who(), "shared/delta");
        Values.check("first", one.calls(), 1);
        Values.check("second", two.calls(), 2);
        Values.check("third", one.calls(), 3);
    }

    private void locator() throws InterruptedException {
        Item it = item(Kind.located, "eta");
        Yard yard = yard();
        Values.check("who", it.who(), "located/eta");
        checkHistory(yard, "eta", "preinvoke who; postinvoke who");
        Values.check("of one servant", it.calls(), 1);
        checkHistory(yard, "eta", "preinvoke who; postinvoke who; preinvoke calls; postinvoke calls");
        Values.check("of the next servant", it.calls(), 1);
    }

    private void activator() throws InterruptedException {
        Item it = item(Kind.on_demand, "theta");
        Yard yard = yard();
        Values.check("before", yard.history("theta"), "");
        Values.check("who", it.who(), "archive/boxes/theta");
        Values.check("first", it.calls(), 1);
        Values.check("second", it.calls(), 2);
        checkHistory(yard, "theta", "incarnate");
        yard.deactivate(Kind.on_demand, "theta");
        checkHistory(yard, "theta", "incarnate; etherealize false false");
        Values.check("of the next servant", it.calls(), 1);
        checkHistory(yard, "theta", "incarnate; etherealize false false; incarnate");
    }

    // ---------------------------------------------------------------- states of a POA manager

    private void holding() throws Exception {
        Yard yard = yard();
        Item it = yard.get_gated();
        int before = it.calls();
        yard.hold();
        int[] got = {0};
        Thread caller = new Thread(() -> {
            try {
                got[0] = it.calls();
            } catch (SystemException e) {
                got[0] = -1;
            }
        });
        caller.start();
        for (int i = 0; i < 500 && yard.held() != 1; i++) Thread.sleep(10);
        int held = yard.held();
        boolean tooEarly = !caller.isAlive();
        yard.activate();
        caller.join();
        Values.check("held", held, 1);
        expect(!tooEarly, "the request was not held");
        Values.check("held, then served", got[0], before + 1);
        Values.check("held", yard.held(), 0);
        Values.check("who", it.who(), "gated/item");
    }

    private void discarding() {
        Yard yard = yard();
        Item it = yard.get_gated();
        int before = it.calls();
        yard.discard();
        int minor;
        try {
            minor = raised(TRANSIENT.class, it::calls).minor;
        } finally {
            yard.activate();
        }
        Values.check("minor code", minor, 0x4f4d0001);
        Values.check("afterwards", it.calls(), before + 1);
    }

    // ---------------------------------------------------------------- restart

    private interface Prepare {
        Feature run() throws Exception;
    }

    interface RunOne {
        boolean run(String name, Feature feature, boolean says);
    }

    /** Each feature prepares, then the server is killed and started again, then each looks. */
    int restart(Predicate<String> wanted, RunOne runOne) throws java.io.IOException {
        Map<String, Prepare> all = new LinkedHashMap<>();
        all.put("restart", this::persistent);
        all.put("restart_transient", this::transientReference);
        all.put("restart_on_demand", this::onDemand);
        all.put("restart_corbaloc", this::corbaloc);
        Map<String, Feature> prepared = new LinkedHashMap<>();
        all.forEach((name, prepare) -> {
            if (wanted.test(name)) runOne.run(name, () -> prepared.put(name, prepare.run()), false);
        });
        System.out.println("restart now");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        int failed = 0;
        for (Map.Entry<String, Feature> f : prepared.entrySet())
            failed += runOne.run(f.getKey(), f.getValue(), true) ? 0 : 1;
        return failed;
    }

    /** A call on the connection that died may fail: COMM_FAILURE or TRANSIENT; then a new one is made. */
    private static <T> T again(Supplier<T> call) {
        for (int attempt = 1;; attempt++) {
            try {
                return call.get();
            } catch (COMM_FAILURE | TRANSIENT e) {
                if (attempt == 3) throw e;
            }
        }
    }

    private Feature persistent() {
        Counter it = root.get_counter();
        Values.check("first", it.increment(), 1);
        Values.check("second", it.increment(), 2);
        String before = it.incarnation();
        return () -> {
            Values.check("third", again(it::increment), 1);
            expect(!before.equals(it.incarnation()), "the same process answers");
        };
    }

    /** The object ended with its process, and no other server answers for it. */
    private Feature transientReference() {
        Top it = root.get_only_top();
        Values.check("from_top", it.from_top(1), "only top 1");
        return () -> {
            raised(OBJECT_NOT_EXIST.class, () -> again(() -> it.from_top(2)));
            expect(it._non_existent(), "_non_existent says that it is there");
        };
    }

    /**
     * In the new process nothing is there until the reference is called: its POAs are made by adapter
     * activators, its servant by a servant activator.
     */
    private Feature onDemand() {
        Item it = item(Kind.on_demand, "epsilon");
        Values.check("first", it.calls(), 1);
        Values.check("second", it.calls(), 2);
        String before = it.incarnation();
        Yard yard = yard();
        return () -> {
            Values.check("archive before", again(() -> yard.history("archive")), "");
            Values.check("third", it.calls(), 1);
            Values.check("who", it.who(), "archive/boxes/epsilon");
            checkHistory(yard, "archive", "unknown_adapter");
            checkHistory(yard, "boxes", "unknown_adapter");
            checkHistory(yard, "epsilon", "incarnate");
            expect(!before.equals(it.incarnation()), "the same process answers");
        };
    }

    /** The URL of a persistent object is good in the next life, too: kept as text, and as a reference. */
    private Feature corbaloc() {
        String url = yard().get_url(Kind.on_demand, "zeta");
        Item it = ofUrl(url);
        Values.check("first", it.calls(), 1);
        Values.check("who", it.who(), "archive/boxes/zeta");
        return () -> {
            Values.check("second", again(it::calls), 1);
            Values.check("by the URL again", ofUrl(url).calls(), 2);
            Values.check("who", it.who(), "archive/boxes/zeta");
        };
    }
}
