import java.util.Arrays;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.jacorb.orb.CDROutputStream;
import org.omg.CORBA.Any;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.NVList;
import org.omg.CORBA.ServerRequest;
import org.omg.CORBA.StringHolder;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;
import org.omg.CORBA.UserException;
import org.omg.Messaging.ExceptionHolder;
import org.omg.PortableServer.DynamicImplementation;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.Servant;

import Asynchrony.*;

/** The rules of asynchrony.idl, its servants, plain and dynamic, and its reply handler. */
final class AsyncServants {
    private AsyncServants() {}

    interface Act {
        void run() throws Exception;
    }

    static int[] numbers(int first, int count) {
        int[] r = new int[count];
        for (int i = 0; i < count; i++) r[i] = first + i;
        return r;
    }

    static Item item(int n) {
        return new Item("item " + n, n, n / 2.0, numbers(n, Math.max(0, n % 5)));
    }

    /** Answers as `work` has to; `some` is inout. */
    static Item work(int number, int[] some, StringHolder text) throws Refused, Nothing {
        if (number == -1) throw new Refused("refused", 77, item(3));
        if (number == -2) throw new Nothing();
        if (number == -3) throw new org.omg.CORBA.BAD_PARAM(0x4f4d0007, CompletionStatus.COMPLETED_YES);
        for (int i = 0; i < some.length; i++) some[i] += number;
        text.value = "work " + number;
        return item(number);
    }

    /** "Refused refused 77 item 3" and so on, of what `act` raises; "" when nothing. */
    static String raisedBy(Act act) {
        try {
            act.run();
            return "";
        } catch (Refused e) {
            return "Refused " + e.why + " " + e.code + " " + e.what.name;
        } catch (Nothing e) {
            return "Nothing";
        } catch (SystemException e) {
            return e.getClass().getSimpleName() + String.format(" %08x ", e.minor)
                + new String[] {"COMPLETED_YES", "COMPLETED_NO", "COMPLETED_MAYBE"}[e.completed.value()];
        } catch (Exception e) {
            return "unexpected " + e;
        }
    }

    static Delivery empty(String operation) {
        return new Delivery(operation, item(0), new int[0], "", "");
    }

    // ---------------------------------------------------------------- the reply handler

    static final class RecordingHandler extends AMI_CallsHandlerPOA {
        final LinkedBlockingQueue<Delivery> deliveries = new LinkedBlockingQueue<>();
        /** Called in the upcall, before the delivery is kept. */
        volatile Consumer<Delivery> meanwhile = d -> {};

        Delivery next(int milliseconds) {
            try {
                return deliveries.poll(milliseconds, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void keep(Delivery d) {
            meanwhile.accept(d);
            deliveries.add(d);
        }
        private void number(String operation, int n) {
            Delivery d = empty(operation);
            d.result.number = n;
            keep(d);
        }
        private void said(String operation, String text) {
            Delivery d = empty(operation);
            d.text = text;
            keep(d);
        }
        private void raised(String operation, ExceptionHolder holder) {
            Delivery d = empty(operation);
            d.raised = raisedBy(holder::raise_exception);
            keep(d);
        }

        public void work(Item result, int[] some, String text) {
            keep(new Delivery("work", result, some, text, ""));
        }
        public void echo(Any value) {
            Delivery d = empty("echo");
            if (value.type().equivalent(ItemHelper.type())) d.result = ItemHelper.extract(value);
            keep(d);
        }
        public void pause() { number("pause", 0); }
        public void delayed(int n) { number("delayed", n); }
        public void tell() { number("tell", 0); }
        public void told(int n, boolean inOrder) { number("told", n); }
        public void forget() { number("forget", 0); }
        public void hold(int n) { number("hold", n); }
        public void held_at_most(int n) { number("held_at_most", n); }
        public void held(int n) { number("held", n); }
        public void release() { number("release", 0); }
        public void entertain(int n) { number("entertain", n); }
        public void _get_level(int n) { number("get_level", n); }
        public void _set_level() { number("set_level", 0); }
        public void _get_title(String text) { said("get_title", text); }
        public void from_base(String text) { said("from_base", text); }

        public void work_excep(ExceptionHolder h) { raised("work", h); }
        public void echo_excep(ExceptionHolder h) { raised("echo", h); }
        public void pause_excep(ExceptionHolder h) { raised("pause", h); }
        public void delayed_excep(ExceptionHolder h) { raised("delayed", h); }
        public void tell_excep(ExceptionHolder h) { raised("tell", h); }
        public void told_excep(ExceptionHolder h) { raised("told", h); }
        public void forget_excep(ExceptionHolder h) { raised("forget", h); }
        public void hold_excep(ExceptionHolder h) { raised("hold", h); }
        public void held_at_most_excep(ExceptionHolder h) { raised("held_at_most", h); }
        public void held_excep(ExceptionHolder h) { raised("held", h); }
        public void release_excep(ExceptionHolder h) { raised("release", h); }
        public void entertain_excep(ExceptionHolder h) { raised("entertain", h); }
        public void _get_level_excep(ExceptionHolder h) { raised("get_level", h); }
        public void _set_level_excep(ExceptionHolder h) { raised("set_level", h); }
        public void _get_title_excep(ExceptionHolder h) { raised("get_title", h); }
        public void from_base_excep(ExceptionHolder h) { raised("from_base", h); }
    }

    static AMI_CallsHandler reference(RecordingHandler handler) {
        return AMI_CallsHandlerHelper.unchecked_narrow(Servants.activated(handler));
    }

    // ---------------------------------------------------------------- plain servants

    /** What Calls servants remember, plain or dynamic. */
    private static final class State {
        private int level, told, last = -1;
        private boolean inOrder = true;

        synchronized int level() {
            return level;
        }
        synchronized void level(int n) {
            if (n == 13) throw new org.omg.CORBA.NO_PERMISSION(13, CompletionStatus.COMPLETED_NO);
            level = n;
        }
        void tell(int number, int milliseconds) {
            if (number == 13) throw new org.omg.CORBA.NO_PERMISSION(13, CompletionStatus.COMPLETED_NO);
            delayed(number, milliseconds);
            synchronized (this) {
                told++;
                inOrder &= number > last;
                last = number;
            }
        }
        synchronized int told() {
            return told;
        }
        synchronized boolean inOrder() {
            return inOrder;
        }
        synchronized void forget() {
            told = 0;
            inOrder = true;
            last = -1;
        }
        int delayed(int number, int milliseconds) {
            try {
                if (milliseconds > 0) Thread.sleep(milliseconds);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return number;
        }
    }

    static final class CallsServant extends CallsPOA {
        private final State state = new State();
        private int held, turn;

        public int level() { return state.level(); }
        public void level(int n) { state.level(n); }
        public String title() { return "asynchrony"; }
        public String from_base(int n) { return "base " + n; }
        public Item work(int number, NumbersHolder some, StringHolder text) throws Refused, Nothing {
            return AsyncServants.work(number, some.value, text);
        }
        public void pause() {}
        public int delayed(int number, int milliseconds) { return state.delayed(number, milliseconds); }
        public Any echo(Any value) { return value; }
        public void tell(int number, int milliseconds) { state.tell(number, milliseconds); }
        public int told(org.omg.CORBA.BooleanHolder inOrder) {
            inOrder.value = state.inOrder();
            return state.told();
        }
        public void forget() { state.forget(); }

        public synchronized int hold(int number) {
            int mine = turn;
            held++;
            try {
                while (turn == mine) wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            held--;
            return number;
        }
        public int held_at_most() { return 8; }
        public synchronized int held() { return held; }
        public synchronized void release() {
            turn++;
            notifyAll();
        }
        public int entertain(Visitor guest, int depth) {
            return depth == 0 ? 0 : guest.visit(_this(), depth - 1) + 1;
        }
    }

    static final class VisitorServant extends VisitorPOA {
        public int visit(Calls host, int depth) {
            return depth == 0 ? 0 : host.entertain(_this(), depth - 1) + 1;
        }
    }

    // ---------------------------------------------------------------- a dynamic servant

    static final class DynamicCalls extends DynamicImplementation {
        private final State state = new State();
        private final org.omg.CORBA.ORB orb = Values.orb;

        public String[] _all_interfaces(POA poa, byte[] id) {
            return new String[] {CallsHelper.id(), BaseHelper.id()};
        }

        public void invoke(ServerRequest request) {
            Any raised = orb.create_any();
            // A system exception passes through: JacORB sends one that is set as a user exception.
            try {
                dispatch(request);
                return;
            } catch (Refused e) {
                RefusedHelper.insert(raised, e);
            } catch (Nothing e) {
                NothingHelper.insert(raised, e);
            }
            request.set_exception(raised);
        }

        private TypeCode type(TCKind kind) {
            return orb.get_primitive_tc(kind);
        }
        private static void add(NVList list, int direction, Any value) {
            try {
                list.add_value("", value, direction);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        private static Any at(NVList list, int index) {
            try {
                return list.item(index).value();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        private NVList take(ServerRequest request, TypeCode... types) {
            NVList list = orb.create_list(0);
            for (TypeCode type : types) {
                Any any = orb.create_any();
                any.type(type);
                add(list, org.omg.CORBA.ARG_IN.value, any);
            }
            request.arguments(list);
            return list;
        }
        private interface Insert {
            void into(Any any);
        }
        private void answer(ServerRequest request, Insert insert) {
            Any any = orb.create_any();
            insert.into(any);
            request.set_result(any);
        }

        private void dispatch(ServerRequest request) throws Refused, Nothing {
            NVList list;
            TypeCode number = type(TCKind.tk_long);
            switch (request.operation()) {
            case "_get_level":
                take(request);
                answer(request, any -> any.insert_long(state.level()));
                break;
            case "_set_level":
                list = take(request, number);
                state.level(at(list, 0).extract_long());
                answer(request, any -> any.type(type(TCKind.tk_void)));
                break;
            case "_get_title":
                take(request);
                answer(request, any -> any.insert_string("asynchrony"));
                break;
            case "from_base":
                list = take(request, number);
                answer(request, any -> any.insert_string("base " + at(list, 0).extract_long()));
                break;
            case "work":
                work(request);
                break;
            case "pause":
                take(request);
                answer(request, any -> any.type(type(TCKind.tk_void)));
                break;
            case "delayed":
                list = take(request, number, type(TCKind.tk_ulong));
                int n = state.delayed(at(list, 0).extract_long(), at(list, 1).extract_ulong());
                answer(request, any -> any.insert_long(n));
                break;
            case "echo":
                list = take(request, type(TCKind.tk_any));
                answer(request, any -> any.insert_any(at(list, 0).extract_any()));
                break;
            default:
                oneways(request);
            }
        }

        private void work(ServerRequest request) throws Refused, Nothing {
            NVList list = orb.create_list(0);
            Any number = orb.create_any();
            number.type(type(TCKind.tk_long));
            add(list, org.omg.CORBA.ARG_IN.value, number);
            Any some = orb.create_any();
            some.type(NumbersHelper.type());
            add(list, org.omg.CORBA.ARG_INOUT.value, some);
            Any text = orb.create_any();
            text.type(type(TCKind.tk_string));
            add(list, org.omg.CORBA.ARG_OUT.value, text);
            request.arguments(list);
            int[] numbers = NumbersHelper.extract(at(list, 1));
            StringHolder said = new StringHolder();
            Item item = AsyncServants.work(at(list, 0).extract_long(), numbers, said);
            NumbersHelper.insert(at(list, 1), numbers);
            at(list, 2).insert_string(said.value);
            answer(request, any -> ItemHelper.insert(any, item));
        }

        private void oneways(ServerRequest request) {
            NVList list;
            switch (request.operation()) {
            case "tell":
                list = take(request, type(TCKind.tk_long), type(TCKind.tk_ulong));
                state.tell(at(list, 0).extract_long(), at(list, 1).extract_ulong());
                answer(request, any -> any.type(type(TCKind.tk_void)));
                break;
            case "forget":
                take(request);
                state.forget();
                answer(request, any -> any.type(type(TCKind.tk_void)));
                break;
            case "told":
                list = orb.create_list(0);
                Any inOrder = orb.create_any();
                inOrder.type(type(TCKind.tk_boolean));
                add(list, org.omg.CORBA.ARG_OUT.value, inOrder);
                request.arguments(list);
                at(list, 0).insert_boolean(state.inOrder());
                answer(request, any -> any.insert_long(state.told()));
                break;
            default:
                throw new org.omg.CORBA.BAD_OPERATION(0, CompletionStatus.COMPLETED_NO);
            }
        }
    }

    // ---------------------------------------------------------------- the way in

    /** The holder of the standard, made from an exception: JacORB makes it from a reply only. */
    private static ExceptionHolder holder(Exception e) {
        CDROutputStream out = new CDROutputStream(Values.orb);
        boolean isSystem = e instanceof SystemException;
        if (e instanceof Refused) RefusedHelper.write(out, (Refused) e);
        else if (e instanceof Nothing) NothingHelper.write(out, (Nothing) e);
        else org.jacorb.orb.SystemExceptionHelper.write(out, (SystemException) e);
        byte[] octets = out.getBufferCopy();
        return new org.jacorb.orb.ExceptionHolderImpl((org.jacorb.orb.ORB) Values.orb) {
            {
                is_system_exception = isSystem;
                byte_order = false;
                marshaled_exception = octets;
            }
        };
    }

    /** Calls `work` or `work_excep` of that handler. */
    static void deliver(org.omg.CORBA.Object to, int number) {
        AMI_CallsHandler it = AMI_CallsHandlerHelper.unchecked_narrow(to);
        int[] some = numbers(1, 3);
        StringHolder text = new StringHolder();
        Item item;
        try {
            item = AsyncServants.work(number, some, text);
        } catch (Exception e) {
            workExcep((org.omg.CORBA.portable.ObjectImpl) to, holder(e));
            return;
        }
        it.work(item, some, text.value);
    }
    /** What the stub does, with the value's id: the stub asks classes for it that the JDK lost with RMI-IIOP. */
    private static void workExcep(org.omg.CORBA.portable.ObjectImpl to, ExceptionHolder holder) {
        try {
            org.omg.CORBA.portable.OutputStream out = to._request("work_excep", true);
            ((org.omg.CORBA_2_3.portable.OutputStream) out)
                .write_value(holder, "IDL:omg.org/Messaging/ExceptionHolder:1.0");
            to._releaseReply(to._invoke(out));
        } catch (org.omg.CORBA.portable.ApplicationException | org.omg.CORBA.portable.RemarshalException e) {
            throw new org.omg.CORBA.INTERNAL(e.toString());
        }
    }

    private static final class RecorderServant extends RecorderPOA {
        private final RecordingHandler handler = new RecordingHandler();
        private final org.omg.CORBA.Object reference = Servants.activated(handler);

        public org.omg.CORBA.Object handler() {
            return reference;
        }
        public boolean next(int milliseconds, DeliveryHolder what) {
            Delivery d = handler.next(milliseconds);
            what.value = d == null ? empty("") : d;
            return d != null;
        }
        public void deliver(org.omg.CORBA.Object to, int number) {
            AsyncServants.deliver(to, number);
        }
        public void send(Calls target, org.omg.CORBA.Object to, int number) {
            ((_CallsStub) target).sendc_work(AMI_CallsHandlerHelper.unchecked_narrow(to), number, numbers(1, 3));
        }
    }

    static final class HostServant extends HostPOA {
        private final org.omg.CORBA.Object calls, recorder = Servants.activated(new RecorderServant());

        HostServant(boolean dynamic) {
            Servant servant = dynamic ? new DynamicCalls() : new CallsServant();
            calls = Servants.activated(servant);
        }
        public Calls get_calls() {
            return CallsHelper.unchecked_narrow(calls);
        }
        public Recorder get_recorder() {
            return RecorderHelper.narrow(recorder);
        }
    }

    static boolean same(int[] a, int[] b) {
        return Arrays.equals(a, b);
    }
}
