import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.Policy;
import org.omg.CORBA.Request;
import org.omg.CORBA.SetOverrideType;
import org.omg.CORBA.StringHolder;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;

import Asynchrony.*;

/**
 * The client side of the asynchronous part of the catalogue: AMI with handlers (JacORB has no pollers), DII,
 * time-outs, synchronisation scopes. Features of the same names are in async_client.cc and src/peer.
 */
final class AsyncClient {
    private static final int LONG_TIME = 20000;
    private static final String[] RAISED =
        {"", "Refused refused 77 item 3", "Nothing", "BAD_PARAM 4f4d0007 COMPLETED_YES"};

    private final Host host;
    private final Interop.Root root;
    private Calls calls;

    AsyncClient(Interop.Root root) {
        this.root = root;
        host = HostHelper.narrow(root.get_asynchrony());
    }

    interface Feature {
        void run() throws Exception;
    }
    interface Add {
        void feature(String name, Feature feature);
    }

    void addTo(Add add) {
        if (host == null) return;
        calls = host.get_calls();
        add.feature("static_results", this::staticResults);
        add.feature("entertain", this::entertain);
        add.feature("ami_results", this::amiResults);
        add.feature("ami_attributes", this::amiAttributes);
        add.feature("ami_exceptions", this::amiExceptions);
        add.feature("ami_anys", this::amiAnys);
        add.feature("ami_nil_handler", this::amiNilHandler);
        add.feature("ami_pipelined", this::amiPipelined);
        add.feature("ami_held", this::amiHeld);
        add.feature("ami_nested", this::amiNested);
        add.feature("ami_entertain", this::amiEntertain);
        add.feature("ami_timeout", this::amiTimeout);
        add.feature("ami_gone", this::amiGone);
        add.feature("remote_handler", () -> remoteHandler(4, 8));
        add.feature("remote_handler_exceptions", () -> remoteHandler(-1, -2, -3));
        add.feature("remote_reply", () -> sentByServer(true, 4, 8));
        add.feature("remote_reply_exceptions", () -> sentByServer(true, -1, -2, -3));
        add.feature("delivered", () -> sentByServer(false, 4, 8));
        add.feature("delivered_exceptions", () -> sentByServer(false, -1, -2, -3));
        add.feature("deliver", () -> deliver(4, 8));
        add.feature("deliver_exceptions", () -> deliver(-1, -2, -3));
        add.feature("dii_results", this::diiResults);
        add.feature("dii_exceptions", this::diiExceptions);
        add.feature("dii_deferred", this::diiDeferred);
        add.feature("dii_multiple", this::diiMultiple);
        add.feature("dii_oneway", this::diiOneway);
        add.feature("dii_any", this::diiAny);
        add.feature("oneway_order", this::onewayOrder);
        add.feature("sync_with_server", () -> syncWithServer());
        add.feature("sync_with_target", () -> syncWithTarget());
        add.feature("timeout", this::timeout);
    }

    // ---------------------------------------------------------------- helpers

    private static void expect(boolean condition, String what) {
        if (!condition) throw new Values.Different(what);
    }
    private static void checkItem(String what, Item got, int n) {
        Item wanted = AsyncServants.item(n);
        Values.check(what, got.name, wanted.name);
        Values.check(what, got.number, wanted.number);
        Values.check(what, got.weight, wanted.weight);
        expect(AsyncServants.same(got.parts, wanted.parts), what + ": parts of item " + n);
    }
    private static int[] some() {
        return AsyncServants.numbers(1, 3);
    }
    private static int[] added(int n) {
        return AsyncServants.numbers(1 + n, 3);
    }
    private static void checkWork(Delivery d, int n) {
        Values.check("operation", d.operation, "work");
        Values.check("raised", d.raised, "");
        checkItem("result", d.result, n);
        expect(AsyncServants.same(d.some, added(n)), "some of work " + n);
        Values.check("text", d.text, "work " + n);
    }
    private static Delivery next(AsyncServants.RecordingHandler from, String operation) {
        Delivery d = from.next(LONG_TIME);
        expect(d != null, "no reply of " + operation);
        Values.check("operation", d.operation, operation);
        return d;
    }
    private _CallsStub stub() {
        return (_CallsStub) calls;
    }

    // ---------------------------------------------------------------- static calls

    private void staticResults() throws Exception {
        for (int n = 0; n < 6; n++) {
            NumbersHolder some = new NumbersHolder(some());
            StringHolder text = new StringHolder();
            checkItem("result", calls.work(n, some, text), n);
            expect(AsyncServants.same(some.value, added(n)), "some of work " + n);
            Values.check("text", text.value, "work " + n);
        }
        for (int n = 1; n <= 3; n++) {
            int number = -n;
            Values.check("raised", AsyncServants.raisedBy(
                () -> calls.work(number, new NumbersHolder(new int[0]), new StringHolder())), RAISED[n]);
        }
        Values.check("title", calls.title(), "asynchrony");
        Values.check("raised", AsyncServants.raisedBy(() -> calls.level(13)), "NO_PERMISSION 0000000d COMPLETED_NO");
        Any any = Values.orb.create_any();
        ItemHelper.insert(any, AsyncServants.item(9));
        checkItem("echo", ItemHelper.extract(calls.echo(any)), 9);
    }

    private void entertain() {
        Visitor visitor = VisitorHelper.narrow(Servants.activated(new AsyncServants.VisitorServant()));
        Values.check("depth", calls.entertain(visitor, 6), 6);
    }

    // ---------------------------------------------------------------- AMI

    private void amiResults() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        for (int n = 0; n < 12; n++) {
            stub().sendc_work(to, n, some());
            checkWork(next(handler, "work"), n);
        }
        stub().sendc_from_base(to, 5);
        Values.check("text", next(handler, "from_base").text, "base 5");
        stub().sendc_pause(to);
        next(handler, "pause");
        stub().sendc_delayed(to, 31, 5);
        Values.check("delayed", next(handler, "delayed").result.number, 31);
    }

    private void amiAttributes() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        stub().sendc_set_level(to, 7);
        Values.check("raised", next(handler, "set_level").raised, "");
        stub().sendc_get_level(to);
        Values.check("level", next(handler, "get_level").result.number, 7);
        stub().sendc_get_title(to);
        Values.check("title", next(handler, "get_title").text, "asynchrony");
        stub().sendc_set_level(to, 13);
        Values.check("raised", next(handler, "set_level").raised, "NO_PERMISSION 0000000d COMPLETED_NO");
    }

    private void amiExceptions() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        for (int n = 1; n <= 3; n++) {
            stub().sendc_work(to, -n, some());
            Values.check("raised", next(handler, "work").raised, RAISED[n]);
        }
    }

    private void amiAnys() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        Any any = Values.orb.create_any();
        ItemHelper.insert(any, AsyncServants.item(9));
        stub().sendc_echo(to, any);
        checkItem("echo", next(handler, "echo").result, 9);
    }

    private void amiNilHandler() throws Exception {
        calls.level(1);
        stub().sendc_set_level(null, 21);
        for (int i = 0; i < 500 && calls.level() != 21; i++) Thread.sleep(10);
        Values.check("level", calls.level(), 21);
    }

    private void amiPipelined() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        int count = 500;
        for (int n = 0; n < count; n++) stub().sendc_work(to, n, some());
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < count; i++) {
            Delivery d = next(handler, "work");
            checkWork(d, d.result.number);
            expect(seen.add(d.result.number), "a reply came twice");
        }
        expect(handler.next(20) == null, "a reply too many");
    }

    private void amiHeld() throws Exception {
        int count = calls.held_at_most();
        expect(count > 0, "this servant cannot hold requests");
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        for (int n = 0; n < count; n++) stub().sendc_hold(to, n);
        stub().sendc_work(to, 3, some());
        // overtakes those before it
        checkWork(next(handler, "work"), 3);
        for (int i = 0; i < 1000 && calls.held() != count; i++) Thread.sleep(10);
        Values.check("held", calls.held(), count);
        calls.release();
        Set<Integer> seen = new HashSet<>();
        for (int n = 0; n < count; n++)
            expect(seen.add(next(handler, "hold").result.number), "a reply came twice");
    }

    private void amiNested() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        handler.meanwhile = d -> {
            int n = d.result.number;
            if (n < 19 && calls.from_base(n).equals("base " + n)) stub().sendc_work(to, n + 1, some());
        };
        stub().sendc_work(to, 0, some());
        for (int n = 0; n < 20; n++) {
            Delivery d = next(handler, "work");
            checkWork(d, d.result.number);
        }
    }

    private void amiEntertain() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        Visitor visitor = VisitorHelper.narrow(Servants.activated(new AsyncServants.VisitorServant()));
        stub().sendc_entertain(to, visitor, 6);
        Values.check("depth", next(handler, "entertain").result.number, 6);
    }

    private void amiGone() {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        Calls gone = CallsHelper.unchecked_narrow(root.get_references().gone());
        ((_CallsStub) gone).sendc_pause(to);
        String raised = next(handler, "pause").raised;
        expect(raised.startsWith("OBJECT_NOT_EXIST ") && raised.endsWith("COMPLETED_NO"), "raised " + raised);
    }

    /** The same object by a reference with another relative round-trip time, in milliseconds. */
    private Calls hasty(int milliseconds) throws Exception {
        Any any = Values.orb.create_any();
        any.insert_ulonglong(milliseconds * 10000L);
        return with(Values.orb.create_policy(
            org.omg.Messaging.RELATIVE_RT_TIMEOUT_POLICY_TYPE.value, any));
    }
    private Calls scoped(short scope) throws Exception {
        Any any = Values.orb.create_any();
        org.omg.Messaging.SyncScopeHelper.insert(any, scope);
        return with(Values.orb.create_policy(org.omg.Messaging.SYNC_SCOPE_POLICY_TYPE.value, any));
    }
    private Calls with(Policy policy) {
        return CallsHelper.unchecked_narrow(
            calls._set_policy_override(new Policy[] {policy}, SetOverrideType.ADD_OVERRIDE));
    }

    private void amiTimeout() throws Exception {
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        _CallsStub hasty = (_CallsStub) hasty(60);
        for (int i = 0; i < 3; i++) {
            hasty.sendc_delayed(to, 1, 300);
            String raised = next(handler, "delayed").raised;
            expect(raised.startsWith("TIMEOUT "), "raised " + raised);
            stub().sendc_work(to, i, some());
            checkWork(next(handler, "work"), i);
        }
    }

    // ---------------------------------------------------------------- handlers in another process

    private void remoteHandler(int... numbers) {
        Recorder recorder = host.get_recorder();
        AMI_CallsHandler to = AMI_CallsHandlerHelper.unchecked_narrow(recorder.handler());
        for (int n : numbers) {
            stub().sendc_work(to, n, some());
            checkRecorded(recorder, n);
        }
    }
    private static void checkRecorded(Recorder recorder, int n) {
        DeliveryHolder d = new DeliveryHolder();
        boolean came = false;
        // A little at a time: the reply may have to come over the connection that this waits on.
        for (int i = 0; i < 40 && !came; i++) came = recorder.next(25, d);
        expect(came, "the handler was not called");
        if (n < 0) Values.check("raised", d.value.raised, RAISED[-n]);
        else checkWork(d.value, n);
    }
    private void deliver(int... numbers) {
        Recorder recorder = host.get_recorder();
        for (int n : numbers) {
            AsyncServants.deliver(recorder.handler(), n);
            checkRecorded(recorder, n);
        }
    }

    private void sentByServer(boolean throughAmi, int... numbers) {
        Recorder recorder = host.get_recorder();
        AsyncServants.RecordingHandler handler = new AsyncServants.RecordingHandler();
        AMI_CallsHandler to = AsyncServants.reference(handler);
        for (int n : numbers) {
            if (throughAmi) recorder.send(calls, to, n);
            else recorder.deliver(to, n);
            Delivery d = handler.next(throughAmi ? 1000 : LONG_TIME);
            expect(d != null, "the handler was not called");
            Values.check("operation", d.operation, "work");
            if (n < 0) Values.check("raised", d.raised, RAISED[-n]);
            else checkWork(d, n);
        }
    }

    // ---------------------------------------------------------------- DII

    private static TypeCode type(TCKind kind) {
        return Values.orb.get_primitive_tc(kind);
    }

    private Request diiWork(int n) {
        Request r = calls._request("work");
        r.add_in_arg().insert_long(n);
        NumbersHelper.insert(r.add_inout_arg(), some());
        r.add_out_arg().type(type(TCKind.tk_string));
        r.set_return_type(ItemHelper.type());
        r.exceptions().add(RefusedHelper.type());
        r.exceptions().add(NothingHelper.type());
        return r;
    }

    private static void raise(Request r) throws Exception {
        Exception e = r.env().exception();
        if (e instanceof org.omg.CORBA.UnknownUserException) {
            Any any = ((org.omg.CORBA.UnknownUserException) e).except;
            if (any.type().equivalent(RefusedHelper.type())) throw RefusedHelper.extract(any);
            if (any.type().equivalent(NothingHelper.type())) throw NothingHelper.extract(any);
        }
        if (e != null) throw e;
    }

    private static void checkDiiWork(Request r, int n) throws Exception {
        raise(r);
        checkItem("result", ItemHelper.extract(r.return_value()), n);
        int[] back = NumbersHelper.extract(r.arguments().item(1).value());
        expect(AsyncServants.same(back, added(n)), "some of work " + n);
        Values.check("text", r.arguments().item(2).value().extract_string(), "work " + n);
    }

    private void diiResults() throws Exception {
        for (int n = 0; n < 6; n++) {
            Request r = diiWork(n);
            r.invoke();
            checkDiiWork(r, n);
        }
        Request set = calls._request("_set_level");
        set.add_in_arg().insert_long(17);
        set.set_return_type(type(TCKind.tk_void));
        set.invoke();
        raise(set);
        Request get = calls._request("_get_level");
        get.set_return_type(type(TCKind.tk_long));
        get.invoke();
        raise(get);
        Values.check("level", get.return_value().extract_long(), 17);
    }

    private void diiExceptions() throws Exception {
        for (int n = 1; n <= 3; n++) {
            Request r = diiWork(-n);
            Values.check("raised", AsyncServants.raisedBy(() -> {
                r.invoke();
                raise(r);
            }), RAISED[n]);
        }
    }

    private void diiDeferred() throws Exception {
        Request late = calls._request("delayed");
        late.add_in_arg().insert_long(6);
        late.add_in_arg().insert_ulong(200);
        late.set_return_type(type(TCKind.tk_long));
        late.send_deferred();
        expect(!late.poll_response(), "answered at once");
        Request r = diiWork(5);
        r.send_deferred();
        r.get_response();
        checkDiiWork(r, 5);
        late.get_response();
        raise(late);
        Values.check("delayed", late.return_value().extract_long(), 6);
    }

    private void diiMultiple() throws Exception {
        int count = 30;
        Request[] requests = new Request[count];
        for (int n = 0; n < count; n++) requests[n] = diiWork(n);
        Values.orb.send_multiple_requests_deferred(requests);
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < count; i++) {
            Request r = Values.orb.get_next_response();
            int n = r.arguments().item(0).value().extract_long();
            checkDiiWork(r, n);
            expect(seen.add(n), "a response came twice");
        }
    }

    private void diiOneway() throws Exception {
        calls.forget();
        for (int n = 0; n < 5; n++) {
            Request r = calls._request("tell");
            r.add_in_arg().insert_long(n);
            r.add_in_arg().insert_ulong(0);
            r.send_oneway();
        }
        awaitTold(5);
    }

    private void diiAny() throws Exception {
        Request r = calls._request("echo");
        Any inner = Values.orb.create_any();
        ItemHelper.insert(inner, AsyncServants.item(7));
        r.add_in_arg().insert_any(inner);
        r.set_return_type(type(TCKind.tk_any));
        r.invoke();
        raise(r);
        checkItem("echo", ItemHelper.extract(r.return_value().extract_any()), 7);
    }

    // ---------------------------------------------------------------- oneways, time-outs

    private boolean awaitTold(int count) throws InterruptedException {
        BooleanHolder inOrder = new BooleanHolder();
        for (int i = 0; i < 500 && calls.told(inOrder) < count; i++) Thread.sleep(10);
        Values.check("told", calls.told(inOrder), count);
        return inOrder.value;
    }

    private void onewayOrder() throws Exception {
        calls.forget();
        for (int n = 100; n < 400; n++) calls.tell(n, 0);
        expect(awaitTold(300), "not in order");
    }

    /** Milliseconds that a oneway takes which keeps the servant busy so long. */
    private static long timeOfTell(Calls it, int number, int milliseconds) {
        long begin = System.nanoTime();
        it.tell(number, milliseconds);
        return (System.nanoTime() - begin) / 1000000;
    }

    /** Comes back when the server has the request, before the servant is done with it. */
    private void syncWithServer() throws Exception {
        Calls it = scoped(org.omg.Messaging.SYNC_WITH_SERVER.value);
        calls.forget();
        long time = timeOfTell(it, 1, 600);
        expect(time < 500, "came back after " + time + " ms");
        awaitTold(1);
        Values.check("raised", AsyncServants.raisedBy(() -> it.tell(13, 0)), "");
    }

    /** Comes back when the servant is done, with its exceptions. */
    private void syncWithTarget() throws Exception {
        Calls it = scoped(org.omg.Messaging.SYNC_WITH_TARGET.value);
        calls.forget();
        for (int n = 1; n <= 3; n++) {
            long time = timeOfTell(it, n, 50);
            expect(time >= 50, "came back after " + time + " ms");
            Values.check("told", calls.told(new BooleanHolder()), n);
        }
        Values.check("raised", AsyncServants.raisedBy(() -> it.tell(13, 0)), "NO_PERMISSION 0000000d COMPLETED_NO");
    }

    private void timeout() throws Exception {
        Calls hasty = hasty(60);
        for (int n = 0; n < 4; n++) {
            String raised = AsyncServants.raisedBy(() -> hasty.delayed(1, 250));
            expect(raised.startsWith("TIMEOUT "), "raised " + raised);
            NumbersHolder some = new NumbersHolder(some());
            checkItem("result", calls.work(n, some, new StringHolder()), n);
        }
    }
}
