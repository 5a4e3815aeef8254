import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.omg.CORBA.Any;
import org.omg.CORBA.AnyHolder;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.LongHolder;
import org.omg.CORBA.ObjectHolder;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.TypeCode;
import org.omg.CORBA.TypeCodeHolder;

import Interop.*;
import Interop.ExceptionsPackage.Nearby;
import Interop.KeywordsPackage.Verbs;
import Interop.KeywordsPackage.Words;

/** The client side of the catalogue: prints "ok NAME" or "FAIL NAME reason" for each feature. */
final class Client {
    private interface Feature {
        void run() throws Exception;
    }

    private final Map<String, Feature> features = new LinkedHashMap<>();
    private final Interop.Root root;
    private final int bulk;

    Client(Interop.Root root, int bulk) {
        this.root = root;
        this.bulk = bulk;
    }

    int run(Set<String> chosen, boolean restart) throws java.io.IOException {
        System.out.println("peer " + root.peer());
        AdapterClient adapters = new AdapterClient(root);
        if (restart)
            return adapters.restart(name -> chosen.isEmpty() || chosen.contains(name),
                (name, feature, says) -> runOne(name, feature::run, says));
        passing(PrimitivesOperations.class, root.get_primitives());
        passing(TextsOperations.class, root.get_texts());
        passing(StructsOperations.class, root.get_structs());
        passing(UnionsOperations.class, root.get_unions());
        passing(SequencesOperations.class, root.get_sequences());
        passing(ArraysOperations.class, root.get_arrays());
        passing(FixedsOperations.class, root.get_fixeds());
        anys();
        exceptions();
        attributes();
        inheritance();
        references();
        bulk();
        others();
        new AsyncClient(root).addTo((name, feature) -> features.put(name, feature::run));
        adapters.addTo((name, feature) -> features.put(name, feature::run));
        new TlsAttacks(root).addTo((name, feature) -> features.put(name, feature::run));
        int failed = 0;
        for (Map.Entry<String, Feature> f : features.entrySet())
            if (chosen.isEmpty() || chosen.contains(f.getKey())) failed += runOne(f.getKey(), f.getValue(), true) ? 0 : 1;
        return failed;
    }

    private boolean runOne(String name, Feature feature, boolean says) {
        String reason;
        try {
            feature.run();
            if (says) System.out.println("ok " + name);
            return true;
        } catch (Values.Different d) {
            reason = d.getMessage();
        } catch (SystemException e) {
            reason = reason(e);
        } catch (Exception e) {
            reason = e.toString();
        } catch (StackOverflowError e) {
            reason = e.toString();
        }
        System.out.println("FAIL " + name + " " + reason.replace('\n', ' '));
        return false;
    }

    private String reason(SystemException e) {
        String text = e.getClass().getSimpleName() + String.format(" minor 0x%08x ", e.minor)
            + new String[] {"COMPLETED_YES", "COMPLETED_NO", "COMPLETED_MAYBE"}[e.completed.value()]
            + (e.getMessage() == null ? "" : " " + e.getMessage());
        if (e.minor == Servants.MISMATCH) {
            try {
                text += "; server: " + root.last_mismatch();
            } catch (SystemException ignored) {
                text += "; server does not say why";
            }
        }
        return text;
    }

    private static void expect(boolean condition, String what) {
        if (!condition) throw new Values.Different(what);
    }

    // ---------------------------------------------------------------- pass in every direction

    private void passing(Class<?> operations, Object stub) {
        // by name: the order of reflection is not fixed
        Map<String, Method> methods = new TreeMap<>();
        for (Method m : operations.getMethods())
            if (m.getName().startsWith("pass_")) methods.put(m.getName().substring(5), m);
        for (Map.Entry<String, Method> e : methods.entrySet())
            features.put(e.getKey(), () -> pass(e.getKey(), e.getValue(), stub));
    }

    private static void pass(String name, Method m, Object stub) throws Exception {
        Class<?>[] types = m.getParameterTypes();
        Object b = types[1].getConstructor().newInstance();
        Object c = types[2].getConstructor().newInstance();
        Servants.setValue(b, Values.value(name, 2));
        Object r;
        try {
            r = m.invoke(stub, Values.value(name, 1), b, c);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
            throw e;
        }
        Values.check(name + " inout", Servants.valueOf(b), Values.value(name, 3));
        Values.check(name + " out", Servants.valueOf(c), Values.value(name, 4));
        Values.check(name + " return", r, Values.value(name, 5));
    }

    // ---------------------------------------------------------------- any and TypeCode

    private void any(String name, int... kinds) {
        features.put(name, () -> {
            Anys it = root.get_anys();
            for (int kind : kinds) {
                String tag = "any of kind " + kind;
                AnyHolder b = new AnyHolder(Values.v_any(kind, 2, "client", Servants::named));
                AnyHolder c = new AnyHolder();
                Any r = it.pass_any(kind, Values.v_any(kind, 1, "client", Servants::named), b, c);
                Values.checkAny(tag + " inout", b.value, kind, 3, "server");
                Values.checkAny(tag + " out", c.value, kind, 4, "server");
                Values.checkAny(tag + " return", r, kind, 5, "server");
            }
        });
    }

    private void anys() {
        any("any_primitive", 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12);
        any("any_wide", 3, 15);
        any("any_string", 13, 14);
        any("any_fixed", 16);
        any("any_struct", 17, 18, 19, 20, 37);
        any("any_recursive", 21, 22);
        any("any_union", 23, 24, 39);
        any("any_sequence", 25, 26, 27, 36, 38);
        any("any_array", 28, 29, 40);
        any("any_alias", 30, 31);
        any("any_exception", 32);
        any("any_nested", 33);
        any("any_typecode", 34);
        any("any_reference", 35);
        features.put("any_seq", () -> {
            AnySeqHolder b = new AnySeqHolder(Values.v_any_seq(2));
            AnySeqHolder c = new AnySeqHolder();
            Any[] r = root.get_anys().pass_any_seq(Values.v_any_seq(1), b, c);
            Values.checkAnySeq("any_seq inout", b.value, 3);
            Values.checkAnySeq("any_seq out", c.value, 4);
            Values.checkAnySeq("any_seq return", r, 5);
        });
        features.put("typecode", () -> {
            Anys it = root.get_anys();
            for (int kind = 0; kind < Values.ANY_KINDS; kind++) {
                String tag = "TypeCode of kind " + kind;
                TypeCodeHolder b = new TypeCodeHolder(Values.v_typecode(kind + 1));
                TypeCodeHolder c = new TypeCodeHolder();
                TypeCode r = it.pass_typecode(kind, Values.v_typecode(kind), b, c);
                Values.checkTypeCode(tag + " inout", b.value, kind + 2);
                Values.checkTypeCode(tag + " out", c.value, kind + 3);
                Values.checkTypeCode(tag + " return", r, kind + 4);
            }
        });
    }

    // ---------------------------------------------------------------- exceptions

    static final String[] STANDARD = {"UNKNOWN", "BAD_PARAM", "NO_MEMORY", "IMP_LIMIT", "COMM_FAILURE", "INV_OBJREF",
        "NO_PERMISSION", "INTERNAL", "MARSHAL", "INITIALIZE", "NO_IMPLEMENT", "BAD_TYPECODE", "BAD_OPERATION",
        "NO_RESOURCES", "NO_RESPONSE", "PERSIST_STORE", "BAD_INV_ORDER", "TRANSIENT", "FREE_MEM", "INV_IDENT",
        "INV_FLAG", "INTF_REPOS", "BAD_CONTEXT", "OBJ_ADAPTER", "DATA_CONVERSION", "OBJECT_NOT_EXIST",
        "TRANSACTION_REQUIRED", "TRANSACTION_ROLLEDBACK", "INVALID_TRANSACTION", "INV_POLICY",
        "CODESET_INCOMPATIBLE", "REBIND", "TIMEOUT", "TRANSACTION_UNAVAILABLE", "TRANSACTION_MODE", "BAD_QOS"};

    private void exceptions() {
        features.put("exception_empty", () -> {
            try {
                root.get_exceptions().raise_empty();
            } catch (Empty e) {
                return;
            }
            throw new Values.Different("no exception");
        });
        features.put("exception_members", () -> {
            try {
                root.get_exceptions().raise_details();
            } catch (Details e) {
                Values.check("Details", e, Values.v_details(2));
                return;
            }
            throw new Values.Different("no exception");
        });
        features.put("exception_sequences", () -> {
            try {
                root.get_exceptions().raise_lists(Values.v_long(1), new IntHolder(Values.v_long(2)), new IntHolder());
            } catch (Lists e) {
                Values.check("Lists", e, Values.v_lists(4));
                return;
            }
            throw new Values.Different("no exception");
        });
        features.put("exception_one_of", () -> {
            Exceptions it = root.get_exceptions();
            Values.check("raise_one_of", it.raise_one_of(0), "none");
            int seen = 0;
            try { it.raise_one_of(1); } catch (Empty e) { seen++; }
            try { it.raise_one_of(2); } catch (Details e) { Values.check("Details", e, Values.v_details(3)); seen++; }
            try { it.raise_one_of(3); } catch (Nearby e) { Values.check("Nearby", e.number, Values.v_long(3)); seen++; }
            expect(seen == 3, "another exception than the one asked for");
        });
        features.put("exception_nested_scope", () -> {
            try {
                root.get_exceptions().raise_nearby();
            } catch (Nearby e) {
                Values.check("Nearby", e.number, Values.v_long(4));
                return;
            }
            throw new Values.Different("no exception");
        });
        features.put("exception_system", this::systemExceptions);
        features.put("exception_foreign", () -> {
            try {
                root.get_exceptions().raise_foreign();
            } catch (org.omg.CORBA.UNKNOWN e) {
                return;
            }
            throw new Values.Different("no exception");
        });
        features.put("unknown_operation", () -> {
            // A Top that is called as a Bottom.
            Bottom wrong = BottomHelper.unchecked_narrow(root.get_only_top());
            try {
                wrong.from_bottom(1);
            } catch (org.omg.CORBA.BAD_OPERATION e) {
                Values.check("completed", e.completed, CompletionStatus.COMPLETED_NO);
                return;
            }
            throw new Values.Different("no exception");
        });
    }

    private void systemExceptions() {
        Exceptions it = root.get_exceptions();
        int minor = 0x4f4d0001;
        for (String name : STANDARD) {
            for (int i = 0; i < 3; i++) {
                minor += 77;
                try {
                    it.raise_system(name, minor, Completion.from_int(i));
                } catch (SystemException e) {
                    Values.check(name + " type", e.getClass().getSimpleName(), name);
                    Values.check(name + " minor", e.minor, minor);
                    Values.check(name + " completed", e.completed.value(), i);
                    continue;
                }
                throw new Values.Different(name + ": not raised");
            }
        }
    }

    // ---------------------------------------------------------------- attributes and inheritance

    private void attributes() {
        features.put("attribute_readonly", () -> {
            Attributes it = root.get_attributes();
            Values.check("version", it.version(), "1.0");
            Values.check("myself.version", it.myself().version(), "1.0");
        });
        features.put("attributes", () -> {
            Attributes it = root.get_attributes();
            for (long n = 2; n >= 1; n--) {
                it.number(Values.v_long(n));
                it.text(Values.v_string(n));
                it.someone(Values.v_person(n));
                it.numbers(Values.v_long_seq(n));
                it.tint(Values.v_colour(n));
                it.chart(Values.v_matrix(n));
                it.second_chart(Values.v_matrix(n + 1));
                Values.check("number", it.number(), Values.v_long(n));
                Values.check("text", it.text(), Values.v_string(n));
                Values.check("someone", it.someone(), Values.v_person(n));
                Values.check("numbers", it.numbers(), Values.v_long_seq(n));
                Values.check("tint", it.tint(), Values.v_colour(n));
                Values.check("chart", it.chart(), Values.v_matrix(n));
                Values.check("second_chart", it.second_chart(), Values.v_matrix(n + 1));
            }
        });
        features.put("attribute_refused", () -> {
            try {
                root.get_attributes().number(13);
            } catch (org.omg.CORBA.NO_PERMISSION e) {
                Values.check("minor", e.minor, 13);
                return;
            }
            throw new Values.Different("no exception");
        });
    }

    private void inheritance() {
        features.put("inheritance", () -> {
            Bottom it = root.get_bottom();
            Values.check("from_top", it.from_top(1), "top 1");
            Values.check("from_left", it.from_left(2), "left 2");
            Values.check("from_right", it.from_right(3), "right 3");
            Values.check("from_bottom", it.from_bottom(4), "bottom 4");
            Left left = it;
            Values.check("from_top by Left", left.from_top(5), "top 5");
            left.height(Values.v_long(4));
            Values.check("height", it.height(), Values.v_long(4));
            try {
                it.from_bottom(-1);
            } catch (Details e) {
                Values.check("Details", e, Values.v_details(1));
                return;
            }
            throw new Values.Different("from_bottom(-1): no exception");
        });
        features.put("narrow", () -> {
            Top top = root.get_top();
            Values.check("from_top", top.from_top(6), "top 6");
            Values.check("from_right", BottomHelper.narrow(top).from_right(7), "right 7");
            boolean refused = false;
            try {
                RightHelper.narrow(root.get_only_top());
            } catch (org.omg.CORBA.BAD_PARAM e) {
                refused = true;
            }
            expect(refused, "a mere Top narrows to Right");
            Values.check("from_top", root.get_only_top().from_top(8), "only top 8");
        });
        features.put("implicit_operations", () -> {
            Top top = root.get_top();
            expect(top._is_a("IDL:corbie.test/Interop/Bottom:1.0"), "_is_a its own type");
            expect(top._is_a("IDL:corbie.test/Interop/Left:1.0"), "_is_a a base");
            expect(top._is_a("IDL:omg.org/CORBA/Object:1.0"), "_is_a Object");
            expect(!top._is_a("IDL:corbie.test/Interop/Named:1.0"), "_is_a something else");
            expect(!top._non_existent(), "_non_existent of a living object");
            expect(root.get_references().gone()._non_existent(), "_non_existent of a deactivated object");
        });
        features.put("object_not_exist", () -> {
            try {
                root.get_references().gone().name();
            } catch (org.omg.CORBA.OBJECT_NOT_EXIST e) {
                Values.check("completed", e.completed, CompletionStatus.COMPLETED_NO);
                return;
            }
            throw new Values.Different("no exception");
        });
    }

    // ---------------------------------------------------------------- references

    private void references() {
        features.put("object", () -> {
            ObjectHolder b = new ObjectHolder(Servants.named("client-2"));
            ObjectHolder c = new ObjectHolder();
            org.omg.CORBA.Object r = root.get_references().pass_object(Servants.named("client-1"), b, c);
            Servants.checkObject("object inout", b.value, 3, "server");
            Servants.checkObject("object out", c.value, 4, "server");
            Servants.checkObject("object return", r, 5, "server");
        });
        features.put("named", () -> {
            NamedHolder b = new NamedHolder(Servants.named("client-2"));
            NamedHolder c = new NamedHolder();
            Named r = root.get_references().pass_named(Servants.named("client-1"), b, c);
            Servants.checkNamed("named inout", b.value, 3, "server");
            Servants.checkNamed("named out", c.value, 4, "server");
            Servants.checkNamed("named return", r, 5, "server");
        });
        features.put("nil", () -> {
            ObjectHolder b = new ObjectHolder();
            NamedHolder c = new NamedHolder();
            Named r = root.get_references().pass_nil(null, b, c);
            expect(r == null && b.value == null && c.value == null, "got a reference");
        });
        features.put("named_seq", () -> {
            NamedSeqHolder b = new NamedSeqHolder(Servants.namedSeq(2, "client"));
            NamedSeqHolder c = new NamedSeqHolder();
            Named[] r = root.get_references().pass_named_seq(Servants.namedSeq(1, "client"), b, c);
            Servants.checkNamedSeq("named_seq inout", b.value, 3, "server");
            Servants.checkNamedSeq("named_seq out", c.value, 4, "server");
            Servants.checkNamedSeq("named_seq return", r, 5, "server");
        });
        features.put("holder", () -> {
            HolderHolder b = new HolderHolder(Servants.holder(2, "client"));
            HolderHolder c = new HolderHolder();
            Interop.Holder r = root.get_references().pass_holder(Servants.holder(1, "client"), b, c);
            Servants.checkHolder("holder inout", b.value, 3, "server");
            Servants.checkHolder("holder out", c.value, 4, "server");
            Servants.checkHolder("holder return", r, 5, "server");
        });
        features.put("callback", () -> {
            References it = root.get_references();
            Callback mine = CallbackHelper.narrow(Servants.activated(new Servants.CallbackServant()));
            expect(it.bounce(mine)._is_equivalent(mine), "the reference that came back is another one");
            Values.check("depth 0", it.call_back(mine, 0), 2);
            Values.check("depth 5", it.call_back(mine, 5), 12);
        });
    }

    // ---------------------------------------------------------------- bulk

    private void bulk() {
        features.put("bulk_octets", () -> Values.checkBulk("bulk_octets",
            root.get_bulk().pass_octets(Values.bulkOctets(bulk, 1)), Values.bulkOctets(bulk, 2)));
        features.put("bulk_longs", () -> Values.checkBulk("bulk_longs",
            root.get_bulk().pass_longs(Values.bulkLongs(bulk / 4, 1)), Values.bulkLongs(bulk / 4, 2)));
        features.put("bulk_texts", () -> Values.checkBulk("bulk_texts",
            root.get_bulk().pass_texts(Values.bulkTexts(bulk / 32, 1)), Values.bulkTexts(bulk / 32, 2)));
        features.put("bulk_structs", () -> Values.checkBulk("bulk_structs",
            root.get_bulk().pass_people(Values.bulkPeople(bulk / 256, 1)), Values.bulkPeople(bulk / 256, 2)));
        features.put("bulk_doubles", () -> Values.checkBulk("bulk_doubles",
            root.get_bulk().pass_doubles((byte) 255, Values.bulkDoubles(bulk / 8, 1)), Values.bulkDoubles(bulk / 8, 2)));
        features.put("bulk_string", () -> Values.checkBulk("bulk_string",
            root.get_bulk().pass_string(Values.bulkString(bulk, 1)), Values.bulkString(bulk, 2)));
        // Sizes round the places where messages are cut into fragments.
        features.put("bulk_sizes", () -> {
            Bulk it = root.get_bulk();
            for (int size = 0; size < 40; size++) octets(it, size);
            for (int base = 1024; base <= 65536; base *= 2)
                for (int size = base - 72; size <= base + 8; size += 5) octets(it, size);
        });
    }

    private static void octets(Bulk it, int size) {
        Values.checkBulk("bulk_sizes " + size, it.pass_octets(Values.bulkOctets(size, 1)), Values.bulkOctets(size, 2));
    }

    // ---------------------------------------------------------------- oneway, forwarding, the rest

    private void others() {
        features.put("oneway", this::oneway);
        features.put("forward_by_locator", () -> forward(ForwardMode.by_locator));
        features.put("forward_by_activator", () -> forward(ForwardMode.by_activator));
        features.put("keywords", this::keywords);
        features.put("keyword_attributes", this::keywordAttributes);
        features.put("constants", () -> Values.check("constants", root.get_constants(), Values.v_constants()));
    }

    private void oneway() throws InterruptedException {
        Oneways it = root.get_oneways();
        int count = 1000;
        LongHolder sum = new LongHolder();
        // A oneway may be overtaken, so each step is waited for: something to reset, then the reset.
        it.fire("fire 1", 1);
        for (int i = 0; i < 500 && it.fired(sum) == 0; i++) Thread.sleep(10);
        it.reset();
        for (int i = 0; i < 500 && it.fired(sum) != 0; i++) Thread.sleep(10);
        for (int i = 1; i <= count; i++) it.fire("fire " + i, i);
        int fired = 0;
        for (int i = 0; i < 500 && (fired = it.fired(sum)) < count; i++) Thread.sleep(10);
        Values.check("fired", fired, count);
        Values.check("sum", sum.value, (long) count * (count + 1) / 2);
    }

    private void forward(ForwardMode how) {
        // Small then large over one reference; large first over another; asked for its type over a third.
        int large = Math.min(bulk, 100000);
        for (int first : new int[] {8, large}) {
            Forwarded it = root.get_forwarded(how);
            for (int size : new int[] {first, large, 0}) {
                IntHolder length = new IntHolder();
                Values.check("answered_by", it.answered_by(Values.bulkOctets(size, 9), length), "target");
                Values.check("length", length.value, size);
            }
        }
        Forwarded it = root.get_forwarded(how);
        expect(!it._non_existent(), "_non_existent of a forwarded object");
        expect(it._is_a("IDL:corbie.test/Interop/Forwarded:1.0"), "_is_a of a forwarded object");
    }

    private void keywords() {
        Keywords it = root.get_keywords();
        IntHolder let = new IntHolder(7);
        IntHolder mut = new IntHolder();
        Values.check("fn", it.fn(5, let, mut), 1);
        Values.check("let", let.value, 5);
        Values.check("mut", mut.value, 7);
        Values.check("impl", it.impl(100), 102);
        Values.check("class", it._class(100), 103);
        Values.check("virtual", it.virtual(100), 104);
        Values.check("package", it._package(100), 105);
        Values.check("self", it.self(100), 106);
        Values.check("async", it.async(100), 107);
        Values.check("interface", it._interface(100), 108);
        Values.check("union", it.union(100), 109);
        Values.check("CamelCase", it.CamelCase(100), 110);
        Values.check("HTTPServer", it.HTTPServer(100), 111);
        Values.check("words", it.pass_words(new Words(1, 2, 3, 4, 5, 6)), new Words(6, 5, 4, 3, 2, 1));
        Values.check("verbs", it.pass_verbs(Verbs.from_int(0)), Verbs.from_int(5));
        Values.check("verbs", it.pass_verbs(Verbs.from_int(4)), Verbs.from_int(0));
    }

    private void keywordAttributes() {
        Keywords it = root.get_keywords();
        it.type(31);
        it._static(41);
        Values.check("type", it.type(), 31);
        Values.check("static", it._static(), 41);
    }
}
