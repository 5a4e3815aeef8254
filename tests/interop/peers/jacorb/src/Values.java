import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;

import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;

import Interop.*;

/**
 * The values of the catalogue: what each type's n-th value is. Every peer has the same functions
 * (`src/values.rs`, `values.h`); change them together.
 */
final class Values {
    static ORB orb;

    private Values() {}

    /** What the other side sent is not what it should be. */
    static final class Different extends RuntimeException {
        Different(String what) {
            super(what);
        }
    }

    // ---------------------------------------------------------------- primitives

    static boolean v_boolean(long n) { return n % 2 == 1; }
    static char v_char(long n) { return "A~ 0z".charAt((int) (n % 5)); }
    static char v_wchar(long n) { return "A\u00e9\u20ac\u4e2d\ufffd".charAt((int) (n % 5)); }
    static byte v_octet(long n) { return new byte[] {0, -1, -128, 127, 1}[(int) (n % 5)]; }
    static short v_short(long n) { return new short[] {0, -32768, 32767, -1, 0x1234}[(int) (n % 5)]; }
    static short v_ushort(long n) { return new short[] {0, -1, -32768, 32767, 0x1234}[(int) (n % 5)]; }
    static int v_long(long n) {
        return new int[] {0, Integer.MIN_VALUE, Integer.MAX_VALUE, -1, 0x12345678}[(int) (n % 5)];
    }
    static int v_ulong(long n) {
        return new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0x12345678}[(int) (n % 5)];
    }
    static long v_longlong(long n) {
        return new long[] {0, Long.MIN_VALUE, Long.MAX_VALUE, -1, 0x123456789abcdef0L}[(int) (n % 5)];
    }
    static long v_ulonglong(long n) {
        return new long[] {0, -1, Long.MIN_VALUE, Long.MAX_VALUE, 0x123456789abcdef0L}[(int) (n % 5)];
    }
    static float v_float(long n) {
        return Float.intBitsToFloat(new int[] {0, 0x80000000, 0x7f7fffff, 1, 0xff800000, 0x40490fdb,
            0x7fc00000, 0x00800000}[(int) (n % 8)]);
    }
    static double v_double(long n) {
        return Double.longBitsToDouble(new long[] {0L, 0x8000000000000000L, 0x7fefffffffffffffL, 1L,
            0xfff0000000000000L, 0x400921fb54442d18L, 0x7ff8000000000000L,
            0x0010000000000000L}[(int) (n % 8)]);
    }
    static float v_float_nan(long n) {
        return Float.intBitsToFloat(new int[] {0x7fc00001, 0xffc00000, 0x7fffffff, 0x7fc12345,
            0xffedcba9}[(int) (n % 5)]);
    }
    static double v_double_nan(long n) {
        return Double.longBitsToDouble(new long[] {0x7ff8000000000001L, 0xfff8000000000000L,
            0x7fffffffffffffffL, 0x7ff8123456789abcL, 0xfffedcba98765432L}[(int) (n % 5)]);
    }

    // ---------------------------------------------------------------- texts

    static String v_string(long n) {
        return new String[] {"", "a", "Hello, world", "0123456789abcdefghijklmnopqrstuvwxyz",
            "line\nbreak\ttab \"quoted\" \\ ~"}[(int) (n % 5)];
    }
    static String v_text(long n) { return v_string(n); }
    static String v_short_text(long n) {
        return new String[] {"", "a", "12345678", "abc", "x y"}[(int) (n % 5)];
    }
    static String v_latin1(long n) {
        return new String[] {"\u00e9", "Z\u00fcrich", "\u00a1\u00ff\u00a2\u00a3", "\u00a0",
            "\u00c6r\u00f8sk\u00f8bing"}[(int) (n % 5)];
    }
    static String v_unicode(long n) {
        return new String[] {"€", "日本語", "Ελλάδα", "Привет, мир", "naïve – “quoted”"}[(int) (n % 5)];
    }
    static char v_latin1_char(long n) { return "\u00e9\u00ff\u00a1\u00c6\u00df".charAt((int) (n % 5)); }
    static String v_wstring(long n) {
        return new String[] {"", "A", "äöü€", "日本語", "Привет"}[(int) (n % 5)];
    }
    static String v_wide_text(long n) { return v_wstring(n); }
    static String v_short_wide_text(long n) {
        return new String[] {"", "A", "äöü€", "日本語", "12345678"}[(int) (n % 5)];
    }
    static String v_surrogates(long n) {
        return new String[] {"😀", "a𝄞b", "𐍈", "😀😀", new String(Character.toChars(0x10ffff))}[(int) (n % 5)];
    }

    // ---------------------------------------------------------------- constructed types

    static int v_number(long n) { return v_long(n); }
    static int v_amount(long n) { return v_long(n + 1); }
    static Colour v_colour(long n) { return Colour.from_int((int) (n % 4)); }
    static Point v_point(long n) { return new Point(v_long(n), v_long(n + 1)); }
    static Mixed v_mixed(long n) {
        return new Mixed(v_octet(n), v_double(n), v_boolean(n), v_longlong(n), v_char(n), v_short(n), v_float(n),
            v_ushort(n), v_ulong(n), v_octet(n + 1));
    }
    static Person v_person(long n) {
        return new Person(v_string(n), v_colour(n), v_point(n), v_text_seq(n), v_short_text(n), v_boolean(n));
    }
    static Company v_company(long n) {
        int[][] grid = new int[2][3];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++) grid[i][j] = v_long(n + 3 * i + j);
        return new Company(v_person(n), v_mixed(n), v_person_seq(n), v_matrix(n), grid, v_amount(n));
    }
    static Tree v_tree(long n) { return tree(n, 2); }
    private static Tree tree(long n, int depth) {
        Tree[] children = new Tree[depth == 0 ? 0 : (int) (n % 3)];
        for (int i = 0; i < children.length; i++) children[i] = tree(n + i + 1, depth - 1);
        return new Tree(v_string(n), children);
    }
    static Link v_link(long n) {
        return new Link(v_long(n), n % 5 == 0 ? new Link[0] : new Link[] {v_link(n - 1)});
    }

    // ---------------------------------------------------------------- sequences and arrays

    interface Maker {
        Object make(long n);
    }

    /** An array of `count` elements, of the type of `empty`, made from n, n + 1, ... */
    private static <A> A filled(A empty, long n, int count, Maker element) {
        @SuppressWarnings("unchecked")
        A a = (A) java.lang.reflect.Array.newInstance(empty.getClass().getComponentType(), count);
        for (int i = 0; i < count; i++) java.lang.reflect.Array.set(a, i, element.make(n + i));
        return a;
    }
    private static int count(long n) { return (int) (n % 5); }

    static boolean[] v_boolean_seq(long n) { return filled(new boolean[0], n, count(n), Values::v_boolean); }
    static char[] v_char_seq(long n) { return filled(new char[0], n, count(n), Values::v_char); }
    static char[] v_wchar_seq(long n) { return filled(new char[0], n, count(n), Values::v_wchar); }
    static byte[] v_octet_seq(long n) { return filled(new byte[0], n, count(n), Values::v_octet); }
    static short[] v_short_seq(long n) { return filled(new short[0], n, count(n), Values::v_short); }
    static short[] v_ushort_seq(long n) { return filled(new short[0], n, count(n), Values::v_ushort); }
    static int[] v_long_seq(long n) { return filled(new int[0], n, count(n), Values::v_long); }
    static int[] v_ulong_seq(long n) { return filled(new int[0], n, count(n), Values::v_ulong); }
    static long[] v_longlong_seq(long n) { return filled(new long[0], n, count(n), Values::v_longlong); }
    static long[] v_ulonglong_seq(long n) { return filled(new long[0], n, count(n), Values::v_ulonglong); }
    static float[] v_float_seq(long n) { return filled(new float[0], n, count(n), Values::v_float); }
    static double[] v_double_seq(long n) { return filled(new double[0], n, count(n), Values::v_double); }
    static String[] v_text_seq(long n) { return filled(new String[0], n, count(n), Values::v_string); }
    static String[] v_wide_text_seq(long n) { return filled(new String[0], n, count(n), Values::v_wstring); }
    static Colour[] v_colour_seq(long n) { return filled(new Colour[0], n, count(n), Values::v_colour); }
    static Point[] v_point_seq(long n) { return filled(new Point[0], n, count(n), Values::v_point); }
    static Mixed[] v_mixed_seq(long n) { return filled(new Mixed[0], n, count(n), Values::v_mixed); }
    static Person[] v_person_seq(long n) { return filled(new Person[0], n, count(n), Values::v_person); }
    static int[] v_number_seq6(long n) { return filled(new int[0], n, count(n) + 2, Values::v_long); }
    static String[] v_short_text_seq7(long n) {
        return filled(new String[0], n, count(n) + 3, Values::v_short_text);
    }
    static byte[][] v_octet_seq_seq(long n) { return filled(new byte[0][], n, count(n), Values::v_octet_seq); }
    static int[][] v_long_seq_seq(long n) { return filled(new int[0][], n, count(n), Values::v_long_seq); }
    static short[][][] v_matrix_seq(long n) { return filled(new short[0][][], n, count(n), Values::v_matrix); }

    static int[] v_row(long n) { return filled(new int[0], n, 5, Values::v_long); }
    static short[][] v_matrix(long n) {
        short[][] m = new short[2][];
        for (int i = 0; i < 2; i++) m[i] = filled(new short[0], n + 3 * i, 3, Values::v_short);
        return m;
    }
    static byte[] v_digest(long n) { return filled(new byte[0], n, 16, Values::v_octet); }
    static String[] v_text_array(long n) { return filled(new String[0], n, 3, Values::v_string); }
    static Point[] v_point_array(long n) { return filled(new Point[0], n, 2, Values::v_point); }
    static double[][][] v_cube(long n) {
        double[][][] c = new double[2][2][];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) c[i][j] = filled(new double[0], n + 4 * i + 2 * j, 2, Values::v_double);
        return c;
    }
    static int[][] v_long_seq_array(long n) { return filled(new int[0][], n, 3, Values::v_long_seq); }

    // ---------------------------------------------------------------- unions

    static BooleanUnion v_boolean_union(long n) {
        BooleanUnion u = new BooleanUnion();
        if (n % 2 == 1) u.number(v_long(n));
        else u.text(v_string(n));
        return u;
    }
    static CharUnion v_char_union(long n) {
        CharUnion u = new CharUnion();
        switch ((int) (n % 4)) {
            case 0: u.number('a', v_long(n)); break;
            case 1: u.number('b', v_long(n)); break;
            case 2: u.text(v_string(n)); break;
            default: u.place(v_point(n));
        }
        return u;
    }
    static ShortUnion v_short_union(long n) {
        ShortUnion u = new ShortUnion();
        switch ((int) (n % 3)) {
            case 0: u.small(v_octet(n)); break;
            case 1: u.large(v_double(n)); break;
            default: u.text(v_string(n));
        }
        return u;
    }
    static UshortUnion v_ushort_union(long n) {
        UshortUnion u = new UshortUnion();
        switch ((int) (n % 3)) {
            case 0: u.tint(v_colour(n)); break;
            case 1: u.flag(v_boolean(n)); break;
            default: u.text(v_string(n));
        }
        return u;
    }
    static LongUnion v_long_union(long n) {
        LongUnion u = new LongUnion();
        switch ((int) (n % 3)) {
            case 0: u.number(v_longlong(n)); break;
            case 1: u.numbers(v_long_seq(n)); break;
            default: u.letter(v_char(n));
        }
        return u;
    }
    static UlongUnion v_ulong_union(long n) {
        UlongUnion u = new UlongUnion();
        switch ((int) (n % 3)) {
            case 0: u.chart(v_matrix(n)); break;
            case 1: u.someone(v_person(n)); break;
            default: u.small(v_octet(n));
        }
        return u;
    }
    static LonglongUnion v_longlong_union(long n) {
        LonglongUnion u = new LonglongUnion();
        switch ((int) (n % 3)) {
            case 0: u.number(v_short(n)); break;
            case 1: u.text(v_string(n)); break;
            default: u.large(v_double(n));
        }
        return u;
    }
    static UlonglongUnion v_ulonglong_union(long n) {
        UlonglongUnion u = new UlonglongUnion();
        switch ((int) (n % 3)) {
            case 0: u.number(v_short(n)); break;
            case 1: u.text(v_string(n)); break;
            default: u.large(v_double(n));
        }
        return u;
    }
    static ColourUnion v_colour_union(long n) {
        ColourUnion u = new ColourUnion();
        switch ((int) (n % 4)) {
            case 0: u.inner(v_short_union(n)); break;
            case 1: u.people(Colour.green, v_person_seq(n)); break;
            case 2: u.people(Colour.blue, v_person_seq(n)); break;
            default:
                Any a = orb.create_any();
                a.insert_string(v_string(n));
                u.whatever(a);
        }
        return u;
    }
    static SparseUnion v_sparse_union(long n) {
        SparseUnion u = new SparseUnion();
        switch ((int) (n % 3)) {
            case 0: u.__default(0); break;
            case 1: u.number(v_long(n)); break;
            default: u.text(v_string(n));
        }
        return u;
    }
    static SparseUnion[] v_sparse_union_seq(long n) {
        return filled(new SparseUnion[0], n, count(n), Values::v_sparse_union);
    }

    // ---------------------------------------------------------------- fixed, exceptions, constants

    static BigDecimal v_price(long n) {
        return new BigDecimal(new String[] {"567.80", "-999.99", "999.99", "123.45", "-100.01"}[(int) (n % 5)]);
    }
    static BigDecimal v_huge(long n) {
        return new BigDecimal(new String[] {"1000000000000000000000000000000", "9999999999999999999999999999999",
            "-1234567890123456789012345678901", "5555555555555555555555555555555",
            "-9999999999999999999999999999999"}[(int) (n % 5)]);
    }
    static BigDecimal v_fraction(long n) {
        return new BigDecimal(new String[] {"0.1000000000", "0.9999999999", "-0.1234567890", "0.5000000000", "-0.9000000001"}[(int) (n % 5)]);
    }
    static BigDecimal v_tenth(long n) {
        return new BigDecimal(new String[] {"100.0", "-999.9", "999.9", "123.4", "-512.3"}[(int) (n % 5)]);
    }
    static BigDecimal[] v_price_seq(long n) { return filled(new BigDecimal[0], n, count(n), Values::v_price); }

    static Details v_details(long n) { return new Details(v_string(n), v_long(n), v_point(n)); }
    static Lists v_lists(long n) { return new Lists(v_text_seq(n), v_long_seq(n), v_person_seq(n)); }
    static Constants v_constants() {
        // PI.value is of single precision: JacORB's IDL compiler writes 3.1415927 for 3.14159265358979
        return new Constants(SHORT_CONSTANT.value, LARGE_CONSTANT.value, 3.14159265358979, LETTER.value, YES.value,
            GREETING.value, PREFERRED.value, SHIFTED.value, OCTET_CONSTANT.value);
    }

    // ---------------------------------------------------------------- any and TypeCode

    static final int ANY_KINDS = 41;

    interface MakeNamed {
        Named make(String name);
    }

    /** The helper class and the value function of each kind from 14 on; null where it goes another way. */
    private static final String[][] KINDS = {
        {"ShortText", "short_text"}, null, {"Price", "price"}, {"Colour", "colour"}, {"Point", "point"},
        {"Mixed", "mixed"}, {"Person", "person"}, {"Tree", "tree"}, {"Link", "link"}, {"CharUnion", "char_union"},
        {"SparseUnion", "sparse_union"}, {"LongSeq", "long_seq"}, {"TextSeq", "text_seq"},
        {"PersonSeq", "person_seq"}, {"Matrix", "matrix"}, {"TextArray", "text_array"}, {"Number", "number"},
        {"Amount", "amount"}, {"Details", "details"}, null, null, null, {"OctetSeq", "octet_seq"},
        {"Company", "company"}, {"NumberSeq6", "number_seq6"}, {"ColourUnion", "colour_union"},
        {"LongSeqArray", "long_seq_array"}};

    private static Method helper(String type, String method) throws ReflectiveOperationException {
        for (Method m : Class.forName("Interop." + type + "Helper").getMethods())
            if (m.getName().equals(method)) return m;
        throw new NoSuchMethodException(type + "Helper." + method);
    }

    static Object value(String name, long n) {
        try {
            return Values.class.getDeclaredMethod("v_" + name, long.class).invoke(null, n);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no value function " + name, e);
        }
    }

    static Any v_any(int kind, long n, String who, MakeNamed make) {
        Any a = orb.create_any();
        switch (kind) {
            case 0: break;
            case 1: a.insert_boolean(v_boolean(n)); break;
            case 2: a.insert_char(v_char(n)); break;
            case 3: a.insert_wchar(v_wchar(n)); break;
            case 4: a.insert_octet(v_octet(n)); break;
            case 5: a.insert_short(v_short(n)); break;
            case 6: a.insert_ushort(v_ushort(n)); break;
            case 7: a.insert_long(v_long(n)); break;
            case 8: a.insert_ulong(v_ulong(n)); break;
            case 9: a.insert_longlong(v_longlong(n)); break;
            case 10: a.insert_ulonglong(v_ulonglong(n)); break;
            case 11: a.insert_float(v_float(n)); break;
            case 12: a.insert_double(v_double(n)); break;
            case 13: a.insert_string(v_string(n)); break;
            case 15: a.insert_wstring(v_wstring(n)); break;
            case 33: {
                Any inner = orb.create_any();
                inner.insert_string(v_string(n));
                Any middle = orb.create_any();
                middle.insert_any(inner);
                a.insert_any(middle);
                break;
            }
            case 30: case 31: {
                // the helper's insert() forgets the alias
                org.omg.CORBA.portable.OutputStream o = orb.create_output_stream();
                o.write_long(kind == 30 ? v_number(n) : v_amount(n));
                a.read_value(o.create_input_stream(), v_typecode(kind));
                break;
            }
            case 34: a.insert_TypeCode(v_typecode(n)); break;
            case 35: NamedHelper.insert(a, make.make(who + "-" + n)); break;
            default:
                try {
                    String[] k = KINDS[kind - 14];
                    helper(k[0], "insert").invoke(null, a, value(k[1], n));
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException("any of kind " + kind, e);
                }
        }
        return a;
    }

    private static Object extracted(Any a, int kind) {
        switch (kind) {
            case 0: return null;
            case 1: return a.extract_boolean();
            case 2: return a.extract_char();
            case 3: return a.extract_wchar();
            case 4: return a.extract_octet();
            case 5: return a.extract_short();
            case 6: return a.extract_ushort();
            case 7: return a.extract_long();
            case 8: return a.extract_ulong();
            case 9: return a.extract_longlong();
            case 10: return a.extract_ulonglong();
            case 11: return a.extract_float();
            case 12: return a.extract_double();
            case 13: return a.extract_string();
            case 15: return a.extract_wstring();
            default:
                try {
                    return helper(KINDS[kind - 14][0], "extract").invoke(null, a);
                } catch (java.lang.reflect.InvocationTargetException e) {
                    if (e.getCause() instanceof RuntimeException) throw (RuntimeException) e.getCause();
                    throw new IllegalStateException("any of kind " + kind, e);
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException("any of kind " + kind, e);
                }
        }
    }

    static void checkAny(String what, Any got, int kind, long n, String who) {
        checkTypeCode(what, got.type(), kind);
        if (kind == 33) {
            check(what, got.extract_any().extract_any().extract_string(), v_string(n));
        } else if (kind == 34) {
            checkTypeCode(what, got.extract_TypeCode(), n);
        } else if (kind == 35) {
            check(what, NamedHelper.extract(got).name(), who + "-" + n);
        } else {
            check(what, extracted(got, kind), extracted(v_any(kind, n, who, null), kind));
        }
    }

    static TypeCode v_typecode(long kind) {
        int k = (int) (kind % ANY_KINDS);
        TCKind[] basic = {TCKind.tk_null, TCKind.tk_boolean, TCKind.tk_char, TCKind.tk_wchar, TCKind.tk_octet,
            TCKind.tk_short, TCKind.tk_ushort, TCKind.tk_long, TCKind.tk_ulong, TCKind.tk_longlong,
            TCKind.tk_ulonglong, TCKind.tk_float, TCKind.tk_double};
        if (k < basic.length) return orb.get_primitive_tc(basic[k]);
        switch (k) {
            case 13: return orb.create_string_tc(0);
            case 15: return orb.create_wstring_tc(0);
            case 33: return orb.get_primitive_tc(TCKind.tk_any);
            case 34: return orb.get_primitive_tc(TCKind.tk_TypeCode);
            case 35: return NamedHelper.type();
            default:
                try {
                    return (TypeCode) helper(KINDS[k - 14][0], "type").invoke(null);
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException("TypeCode of kind " + kind, e);
                }
        }
    }

    static void checkTypeCode(String what, TypeCode got, long kind) {
        TypeCode wanted = v_typecode(kind);
        if (got.kind().value() != wanted.kind().value())
            throw new Different(what + ": got TypeCode kind " + got.kind().value() + ", expected "
                + wanted.kind().value());
        if (!got.equivalent(wanted)) throw new Different(what + ": TypeCode not equivalent");
    }

    static Any[] v_any_seq(long n) {
        return filled(new Any[0], n, count(n), k -> v_any(13 + 2 * (int) (k % 5), k, "", null));
    }
    static void checkAnySeq(String what, Any[] got, long n) {
        if (got.length != count(n)) throw new Different(what + ": " + got.length + " elements");
        for (int i = 0; i < got.length; i++) checkAny(what, got[i], 13 + 2 * (int) ((n + i) % 5), n + i, "");
    }

    // ---------------------------------------------------------------- comparison

    static void check(String what, Object got, Object wanted) {
        if (!same(got, wanted)) throw new Different(what + ": got " + words(got) + ", expected " + words(wanted));
    }

    /** Deep and to the bit: arrays, structs, unions, exceptions, anys that hold simple values. */
    private static boolean same(Object a, Object b) {
        if (a == b) return true;
        if (a == null || b == null || a.getClass() != b.getClass()) return false;
        if (a instanceof Float) return Float.floatToRawIntBits((Float) a) == Float.floatToRawIntBits((Float) b);
        if (a instanceof Double) return Double.doubleToRawLongBits((Double) a) == Double.doubleToRawLongBits((Double) b);
        if (a instanceof Any) return ((Any) a).equal((Any) b);
        if (a.getClass().isArray()) {
            int count = java.lang.reflect.Array.getLength(a);
            if (count != java.lang.reflect.Array.getLength(b)) return false;
            for (int i = 0; i < count; i++)
                if (!same(java.lang.reflect.Array.get(a, i), java.lang.reflect.Array.get(b, i))) return false;
            return true;
        }
        if (!a.getClass().getName().startsWith("Interop.")) return a.equals(b);
        try {
            for (Field f : a.getClass().getDeclaredFields()) {
                if (Modifier.isStatic(f.getModifiers())) continue;
                f.setAccessible(true);
                if (!same(f.get(a), f.get(b))) return false;
            }
            return true;
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String words(Object o) {
        if (o == null) return "null";
        if (o instanceof Float) return o + " (0x" + Integer.toHexString(Float.floatToRawIntBits((Float) o)) + ")";
        if (o instanceof Double) return o + " (0x" + Long.toHexString(Double.doubleToRawLongBits((Double) o)) + ")";
        if (o instanceof Character) return "U+" + Integer.toHexString((Character) o);
        if (o.getClass().isArray()) {
            StringBuilder s = new StringBuilder("[");
            int count = java.lang.reflect.Array.getLength(o);
            for (int i = 0; i < count && i < 12; i++) s.append(i == 0 ? "" : ", ").append(words(java.lang.reflect.Array.get(o, i)));
            return s.append(count > 12 ? ", ...]" : "]").toString();
        }
        if (!o.getClass().getName().startsWith("Interop.")) return String.valueOf(o);
        StringBuilder s = new StringBuilder(o.getClass().getSimpleName()).append("{");
        try {
            for (Field f : o.getClass().getDeclaredFields()) {
                if (Modifier.isStatic(f.getModifiers())) continue;
                f.setAccessible(true);
                s.append(f.getName()).append(": ").append(words(f.get(o))).append(", ");
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return s.append("}").toString();
    }

    // ---------------------------------------------------------------- bulk

    static byte[] bulkOctets(int count, int seed) {
        byte[] a = new byte[count];
        for (int i = 0; i < count; i++) a[i] = (byte) (i * 7 + (i >> 8) + seed);
        return a;
    }
    static int[] bulkLongs(int count, int seed) {
        int[] a = new int[count];
        for (int i = 0; i < count; i++) a[i] = i * (int) 2654435761L + seed;
        return a;
    }
    static double[] bulkDoubles(int count, int seed) {
        double[] a = new double[count];
        for (int i = 0; i < count; i++) a[i] = i * 0.5 + seed;
        return a;
    }
    static String bulkString(int count, int seed) {
        char[] a = new char[count];
        for (int i = 0; i < count; i++) a[i] = (char) ('!' + (i + seed) % 90);
        return new String(a);
    }
    static String[] bulkTexts(int count, int seed) {
        String[] a = new String[count];
        for (int i = 0; i < count; i++) a[i] = bulkString((i + seed) % 23, seed);
        return a;
    }
    static Person[] bulkPeople(int count, int seed) {
        Person[] a = new Person[count];
        for (int i = 0; i < count; i++) a[i] = v_person(i + seed);
        return a;
    }
    static void checkBulk(String what, Object got, Object wanted) {
        boolean same = got instanceof byte[] ? java.util.Arrays.equals((byte[]) got, (byte[]) wanted)
            : got instanceof int[] ? java.util.Arrays.equals((int[]) got, (int[]) wanted)
            : got instanceof double[] ? java.util.Arrays.equals((double[]) got, (double[]) wanted)
            : got instanceof String[] ? java.util.Arrays.equals((String[]) got, (String[]) wanted)
            : got instanceof String ? got.equals(wanted)
            : same(got, wanted);
        if (!same) throw new Different(what + ": the values differ");
    }
}
