import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

import org.omg.CORBA.Any;
import org.omg.CORBA.AnyHolder;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.LongHolder;
import org.omg.CORBA.ObjectHolder;
import org.omg.CORBA.Policy;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.TypeCode;
import org.omg.CORBA.TypeCodeHolder;
import org.omg.PortableServer.*;
import org.omg.PortableServer.ServantLocatorPackage.CookieHolder;

import Interop.*;
import Interop.ExceptionsPackage.Nearby;
import Interop.KeywordsPackage.Verbs;
import Interop.KeywordsPackage.Words;

/** The servants of the catalogue. The client uses those of Named and Callback. */
final class Servants {
    static final int MISMATCH = 0x4342ffff;
    static POA root;
    /** Whether the Calls of the Host are served by a dynamic servant (--style dsi). */
    static boolean dynamicCalls;
    private static String mismatch = "";
    private static final Map<String, Named> made = new HashMap<>();

    private Servants() {}

    // ---------------------------------------------------------------- what the server found wrong

    private interface Body<T> {
        T run();
    }

    /** Runs the body of an operation; a difference is kept for Root::last_mismatch. */
    private static <T> T guarded(Body<T> body) {
        try {
            return body.run();
        } catch (Values.Different d) {
            synchronized (made) {
                mismatch = d.getMessage();
            }
            throw new org.omg.CORBA.BAD_PARAM(MISMATCH, CompletionStatus.COMPLETED_NO);
        }
    }

    // ---------------------------------------------------------------- references

    static org.omg.CORBA.Object activated(Servant servant) {
        try {
            return root.servant_to_reference(activate(servant));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
    private static Servant activate(Servant servant) throws Exception {
        root.activate_object(servant);
        return servant;
    }

    static Named named(String name) {
        synchronized (made) {
            return made.computeIfAbsent(name, n -> NamedHelper.narrow(activated(new NamedPOA() {
                public String name() {
                    return n;
                }
            })));
        }
    }

    static Named[] namedSeq(long n, String who) {
        return new Named[] {named(who + "-" + n), null, named(who + "-" + (n + 1))};
    }
    static Interop.Holder holder(long n, String who) {
        return new Interop.Holder(Values.v_string(n), named(who + "-" + n), named(who + "-" + (n + 1)),
            namedSeq(n, who));
    }
    static void checkNamed(String what, Named got, long n, String who) {
        if (got == null) throw new Values.Different(what + ": got nil");
        Values.check(what, got.name(), who + "-" + n);
    }
    static void checkObject(String what, org.omg.CORBA.Object got, long n, String who) {
        if (got == null) throw new Values.Different(what + ": got nil");
        checkNamed(what, NamedHelper.narrow(got), n, who);
    }
    static void checkNamedSeq(String what, Named[] got, long n, String who) {
        if (got.length != 3) throw new Values.Different(what + ": not three references");
        checkNamed(what, got[0], n, who);
        if (got[1] != null) throw new Values.Different(what + "[1]: not nil");
        checkNamed(what, got[2], n + 1, who);
    }
    static void checkHolder(String what, Interop.Holder got, long n, String who) {
        Values.check(what, got.label, Values.v_string(n));
        checkNamed(what, got.one, n, who);
        checkObject(what, got.other, n + 1, who);
        checkNamedSeq(what, got.more, n, who);
    }

    static final class CallbackServant extends CallbackPOA {
        public int ping(References server, int depth) {
            return depth <= 0 ? 1 : 1 + server.call_back(_this(), depth - 1);
        }
    }

    // ---------------------------------------------------------------- pass in every direction

    static Object valueOf(Object holder) throws ReflectiveOperationException {
        return holder.getClass().getField("value").get(holder);
    }
    static void setValue(Object holder, Object value) throws ReflectiveOperationException {
        Field f = holder.getClass().getField("value");
        f.set(holder, value);
    }

    /** Every operation `pass_x(in, inout, out)`: checks the first two values, gives the next three. */
    private static final InvocationHandler PASS = new InvocationHandler() {
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            if (!method.getName().startsWith("pass_")) return method.invoke(this, args);
            String name = method.getName().substring(5);
            try {
                Object inout = valueOf(args[1]);
                guarded(() -> {
                    Values.check(name + " in", args[0], Values.value(name, 1));
                    Values.check(name + " inout", inout, Values.value(name, 2));
                    return null;
                });
                setValue(args[1], Values.value(name, 3));
                setValue(args[2], Values.value(name, 4));
                return Values.value(name, 5);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    };

    private static <T> T passing(Class<T> operations) {
        return operations.cast(Proxy.newProxyInstance(operations.getClassLoader(), new Class<?>[] {operations}, PASS));
    }

    // ---------------------------------------------------------------- the rest

    static final class AnysServant extends AnysPOA {
        public Any pass_any(int kind, Any a, AnyHolder b, AnyHolder c) {
            return guarded(() -> {
                Values.checkAny("any in", a, kind, 1, "client");
                Values.checkAny("any inout", b.value, kind, 2, "client");
                b.value = Values.v_any(kind, 3, "server", Servants::named);
                c.value = Values.v_any(kind, 4, "server", Servants::named);
                return Values.v_any(kind, 5, "server", Servants::named);
            });
        }
        public Any[] pass_any_seq(Any[] a, AnySeqHolder b, AnySeqHolder c) {
            return guarded(() -> {
                Values.checkAnySeq("any_seq in", a, 1);
                Values.checkAnySeq("any_seq inout", b.value, 2);
                b.value = Values.v_any_seq(3);
                c.value = Values.v_any_seq(4);
                return Values.v_any_seq(5);
            });
        }
        public TypeCode pass_typecode(int kind, TypeCode a, TypeCodeHolder b, TypeCodeHolder c) {
            return guarded(() -> {
                Values.checkTypeCode("TypeCode in", a, kind);
                Values.checkTypeCode("TypeCode inout", b.value, kind + 1);
                b.value = Values.v_typecode(kind + 2);
                c.value = Values.v_typecode(kind + 3);
                return Values.v_typecode(kind + 4);
            });
        }
    }

    static final class ExceptionsServant extends ExceptionsPOA {
        public void raise_empty() throws Empty {
            throw new Empty();
        }
        public void raise_details() throws Details {
            throw Values.v_details(2);
        }
        public int raise_lists(int a, IntHolder b, IntHolder c) throws Lists {
            guarded(() -> {
                Values.check("raise_lists in", a, Values.v_long(1));
                Values.check("raise_lists inout", b.value, Values.v_long(2));
                return null;
            });
            throw Values.v_lists(4);
        }
        public String raise_nearby() throws Nearby {
            throw new Nearby(Values.v_long(4));
        }
        public String raise_one_of(int which) throws Nearby, Empty, Details {
            switch (which) {
                case 1: throw new Empty();
                case 2: throw Values.v_details(3);
                case 3: throw new Nearby(Values.v_long(3));
                default: return "none";
            }
        }
        public void raise_system(String name, int minor, Completion completed) {
            SystemException e = guarded(() -> {
                try {
                    return (SystemException) Class.forName("org.omg.CORBA." + name)
                        .getConstructor(int.class, CompletionStatus.class).newInstance(minor, status(completed));
                } catch (ReflectiveOperationException x) {
                    throw new Values.Different("no standard exception is called " + name);
                }
            });
            throw e;
        }
        public void raise_foreign() {
            throw new IllegalStateException("what Java has and CORBA has not");
        }
    }

    static CompletionStatus status(Completion c) {
        return c == Completion.completed_yes ? CompletionStatus.COMPLETED_YES
            : c == Completion.completed_no ? CompletionStatus.COMPLETED_NO : CompletionStatus.COMPLETED_MAYBE;
    }

    static final class AttributesServant extends AttributesPOA {
        private int number = Values.v_long(1);
        private String text = Values.v_string(1);
        private Person someone = Values.v_person(1);
        private int[] numbers = Values.v_long_seq(1);
        private Colour tint = Values.v_colour(1);
        private short[][] chart = Values.v_matrix(1);
        private short[][] second = Values.v_matrix(2);

        public String version() { return "1.0"; }
        public int number() { return number; }
        public void number(int v) {
            if (v == 13) throw new org.omg.CORBA.NO_PERMISSION(13, CompletionStatus.COMPLETED_NO);
            number = v;
        }
        public String text() { return text; }
        public void text(String v) { text = v; }
        public Person someone() { return someone; }
        public void someone(Person v) { someone = v; }
        public int[] numbers() { return numbers; }
        public void numbers(int[] v) { numbers = v; }
        public Colour tint() { return tint; }
        public void tint(Colour v) { tint = v; }
        public short[][] chart() { return chart; }
        public void chart(short[][] v) { chart = v; }
        public short[][] second_chart() { return second; }
        public void second_chart(short[][] v) { second = v; }
        public Attributes myself() { return _this(); }
    }

    static final class TopServant extends TopPOA {
        private int height = 1;
        public String from_top(int n) { return "only top " + n; }
        public int height() { return height; }
        public void height(int v) { height = v; }
    }

    static final class BottomServant extends BottomPOA {
        private int height = 1;
        public String from_top(int n) { return "top " + n; }
        public String from_left(int n) { return "left " + n; }
        public String from_right(int n) { return "right " + n; }
        public String from_bottom(int n) throws Details {
            if (n < 0) throw Values.v_details(1);
            return "bottom " + n;
        }
        public int height() { return height; }
        public void height(int v) { height = v; }
    }

    static final class ReferencesServant extends ReferencesPOA {
        public org.omg.CORBA.Object pass_object(org.omg.CORBA.Object a, ObjectHolder b, ObjectHolder c) {
            return guarded(() -> {
                checkObject("object in", a, 1, "client");
                checkObject("object inout", b.value, 2, "client");
                b.value = named("server-3");
                c.value = named("server-4");
                return named("server-5");
            });
        }
        public Named pass_named(Named a, NamedHolder b, NamedHolder c) {
            return guarded(() -> {
                checkNamed("named in", a, 1, "client");
                checkNamed("named inout", b.value, 2, "client");
                b.value = named("server-3");
                c.value = named("server-4");
                return named("server-5");
            });
        }
        public Named pass_nil(Named a, ObjectHolder b, NamedHolder c) {
            return guarded(() -> {
                if (a != null || b.value != null) throw new Values.Different("nil: got a reference");
                b.value = null;
                c.value = null;
                return null;
            });
        }
        public Named[] pass_named_seq(Named[] a, NamedSeqHolder b, NamedSeqHolder c) {
            return guarded(() -> {
                checkNamedSeq("named_seq in", a, 1, "client");
                checkNamedSeq("named_seq inout", b.value, 2, "client");
                b.value = namedSeq(3, "server");
                c.value = namedSeq(4, "server");
                return namedSeq(5, "server");
            });
        }
        public Interop.Holder pass_holder(Interop.Holder a, HolderHolder b, HolderHolder c) {
            return guarded(() -> {
                checkHolder("holder in", a, 1, "client");
                checkHolder("holder inout", b.value, 2, "client");
                b.value = holder(3, "server");
                c.value = holder(4, "server");
                return holder(5, "server");
            });
        }
        public Callback bounce(Callback it) { return it; }
        public int call_back(Callback it, int depth) { return 1 + it.ping(_this(), depth); }
        public Named gone() {
            try {
                NamedPOA servant = new NamedPOA() {
                    public String name() {
                        return "gone";
                    }
                };
                byte[] id = root.activate_object(servant);
                Named r = NamedHelper.unchecked_narrow(root.id_to_reference(id));
                root.deactivate_object(id);
                return r;
            } catch (org.omg.CORBA.UserException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class OnewaysServant extends OnewaysPOA {
        private int count;
        private long sum;
        public synchronized void fire(String text, int number) {
            if (!text.equals("fire " + number)) return;
            count++;
            sum += number;
        }
        public synchronized void reset() {
            count = 0;
            sum = 0;
        }
        public synchronized int fired(LongHolder total) {
            total.value = sum;
            return count;
        }
    }

    static final class BulkServant extends BulkPOA {
        public byte[] pass_octets(byte[] a) {
            return guarded(() -> {
                Values.checkBulk("pass_octets", a, Values.bulkOctets(a.length, 1));
                return Values.bulkOctets(a.length, 2);
            });
        }
        public int[] pass_longs(int[] a) {
            return guarded(() -> {
                Values.checkBulk("pass_longs", a, Values.bulkLongs(a.length, 1));
                return Values.bulkLongs(a.length, 2);
            });
        }
        public double[] pass_doubles(byte shift, double[] a) {
            return guarded(() -> {
                Values.check("shift", shift, (byte) 255);
                Values.checkBulk("pass_doubles", a, Values.bulkDoubles(a.length, 1));
                return Values.bulkDoubles(a.length, 2);
            });
        }
        public String pass_string(String a) {
            return guarded(() -> {
                Values.checkBulk("pass_string", a, Values.bulkString(a.length(), 1));
                return Values.bulkString(a.length(), 2);
            });
        }
        public String[] pass_texts(String[] a) {
            return guarded(() -> {
                Values.checkBulk("pass_texts", a, Values.bulkTexts(a.length, 1));
                return Values.bulkTexts(a.length, 2);
            });
        }
        public Person[] pass_people(Person[] a) {
            return guarded(() -> {
                Values.checkBulk("pass_people", a, Values.bulkPeople(a.length, 1));
                return Values.bulkPeople(a.length, 2);
            });
        }
    }

    static final class ForwardedServant extends ForwardedPOA {
        public String answered_by(byte[] payload, IntHolder length) {
            return guarded(() -> {
                Values.checkBulk("answered_by", payload, Values.bulkOctets(payload.length, 9));
                length.value = payload.length;
                return "target";
            });
        }
    }

    static final class CounterServant extends CounterPOA {
        private int count;
        public synchronized int increment() { return ++count; }
        public String incarnation() { return String.valueOf(ProcessHandle.current().pid()); }
    }

    static final class KeywordsServant extends KeywordsPOA {
        private int type;
        private int fixed;
        public int fn(int match, IntHolder let, IntHolder mut) {
            mut.value = let.value;
            let.value = match;
            return 1;
        }
        public int impl(int a) { return a + 2; }
        public int _class(int a) { return a + 3; }
        public int virtual(int a) { return a + 4; }
        public int _package(int a) { return a + 5; }
        public int self(int a) { return a + 6; }
        public int async(int a) { return a + 7; }
        public int _interface(int a) { return a + 8; }
        public int union(int a) { return a + 9; }
        public int CamelCase(int a) { return a + 10; }
        public int HTTPServer(int a) { return a + 11; }
        public Words pass_words(Words w) { return new Words(w.loop, w.self, w._class, w.struct, w.move, w.type); }
        public Verbs pass_verbs(Verbs use) { return use.value() == 0 ? Verbs.from_int(5) : Verbs.from_int(0); }
        public int type() { return type; }
        public void type(int v) { type = v; }
        public int _static() { return fixed; }
        public void _static(int v) { fixed = v; }
    }

    // ---------------------------------------------------------------- the root

    static final class RootServant extends RootPOA {
        private final Map<String, org.omg.CORBA.Object> parts = new HashMap<>();

        RootServant() throws Exception {
            put("Primitives", new PrimitivesPOATie(passing(PrimitivesOperations.class)));
            put("Texts", new TextsPOATie(passing(TextsOperations.class)));
            put("Structs", new StructsPOATie(passing(StructsOperations.class)));
            put("Unions", new UnionsPOATie(passing(UnionsOperations.class)));
            put("Sequences", new SequencesPOATie(passing(SequencesOperations.class)));
            put("Arrays", new ArraysPOATie(passing(ArraysOperations.class)));
            put("Fixeds", new FixedsPOATie(passing(FixedsOperations.class)));
            put("Anys", new AnysServant());
            put("Exceptions", new ExceptionsServant());
            put("Attributes", new AttributesServant());
            put("Bottom", new BottomServant());
            put("Top", new TopServant());
            put("References", new ReferencesServant());
            put("Oneways", new OnewaysServant());
            put("Bulk", new BulkServant());
            put("Keywords", new KeywordsServant());
            put("Asynchrony", new AsyncServants.HostServant(dynamicCalls));
            Forwarding.target = activated(new ForwardedServant());
            POA persistent = root.create_POA("persistent", root.the_POAManager(), new Policy[] {
                root.create_lifespan_policy(LifespanPolicyValue.PERSISTENT),
                root.create_id_assignment_policy(IdAssignmentPolicyValue.USER_ID)});
            persistent.activate_object_with_id(Forwarding.ID.getBytes(), new ForwardedServant());
            parts.put("Forwarded", persistent.id_to_reference(Forwarding.ID.getBytes()));
            persistent.activate_object_with_id("counter".getBytes(), new CounterServant());
            parts.put("Counter", persistent.id_to_reference("counter".getBytes()));
        }

        private void put(String name, Servant servant) {
            parts.put(name, activated(servant));
        }
        private org.omg.CORBA.Object part(String name) {
            return parts.get(name);
        }

        public String peer() { return "JacORB 3.9"; }
        public String last_mismatch() {
            synchronized (made) {
                return mismatch;
            }
        }
        public Primitives get_primitives() { return PrimitivesHelper.narrow(part("Primitives")); }
        public Texts get_texts() { return TextsHelper.narrow(part("Texts")); }
        public Structs get_structs() { return StructsHelper.narrow(part("Structs")); }
        public Unions get_unions() { return UnionsHelper.narrow(part("Unions")); }
        public Sequences get_sequences() { return SequencesHelper.narrow(part("Sequences")); }
        public Interop.Arrays get_arrays() { return ArraysHelper.narrow(part("Arrays")); }
        public Fixeds get_fixeds() { return FixedsHelper.narrow(part("Fixeds")); }
        public Anys get_anys() { return AnysHelper.narrow(part("Anys")); }
        public Exceptions get_exceptions() { return ExceptionsHelper.narrow(part("Exceptions")); }
        public Attributes get_attributes() { return AttributesHelper.narrow(part("Attributes")); }
        public Bottom get_bottom() { return BottomHelper.narrow(part("Bottom")); }
        public Top get_top() { return get_bottom(); }
        public Top get_only_top() { return TopHelper.narrow(part("Top")); }
        public References get_references() { return ReferencesHelper.narrow(part("References")); }
        public Oneways get_oneways() { return OnewaysHelper.narrow(part("Oneways")); }
        public Bulk get_bulk() { return BulkHelper.narrow(part("Bulk")); }
        public org.omg.CORBA.Object get_asynchrony() { return part("Asynchrony"); }
        public Keywords get_keywords() { return KeywordsHelper.narrow(part("Keywords")); }
        public Counter get_counter() { return CounterHelper.narrow(part("Counter")); }
        public Forwarded get_forwarded(ForwardMode how) {
            return ForwardedHelper.unchecked_narrow(part("Forwarded"));
        }
        public Constants get_constants() { return Values.v_constants(); }
        public org.omg.CORBA.Object get_extensions() { return null; }
        public org.omg.CORBA.Object get_yard() { return null; }
    }
}
