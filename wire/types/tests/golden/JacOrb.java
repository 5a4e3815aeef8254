// Prints the octets of anys as JacORB writes them; see README.md for the command.
import Golden.*;
import org.jacorb.orb.CDROutputStream;
import org.jacorb.orb.CodeSet;
import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;
import org.omg.CORBA.PRIVATE_MEMBER;
import org.omg.CORBA.PUBLIC_MEMBER;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;
import org.omg.CORBA.VM_NONE;
import org.omg.CORBA.ValueMember;

public class JacOrb {
  static ORB orb;

  static void show(String name, Any value) throws Exception {
    CDROutputStream s = new CDROutputStream(orb, 2);
    s.setCodeSets(CodeSet.getCodeSet("ISO8859_1"), CodeSet.getCodeSet("UTF16"));
    s.write_any(value);
    StringBuilder text = new StringBuilder(name + " big ");
    for (byte octet : s.getBufferCopy()) text.append(String.format("%02x", octet));
    System.out.println(text);
  }

  static Mixed mixed() {
    return new Mixed((byte) 1, -2.5, true, -3L, 'x', (short) -4, 0.5f, '\u20ac', (int) 4000000000L);
  }

  public static void main(String[] args) throws Exception {
    orb = ORB.init(args, null);
    Any a = orb.create_any(); a.insert_long(-7); show("long", a);
    a = orb.create_any(); a.insert_string("Gr\u00fc\u00dfe"); show("string", a);
    a = orb.create_any(); a.insert_wstring("a\u20ac"); show("wstring", a);
    a = orb.create_any(); a.insert_wstring(""); show("empty_wstring", a);
    a = orb.create_any(); a.insert_wchar('\u20ac'); show("wchar", a);
    a = orb.create_any(); SideHelper.insert(a, Side.sell); show("side", a);
    Tree leaf = new Tree("leaf", new Tree[0]);
    a = orb.create_any(); TreeHelper.insert(a, new Tree("root", new Tree[] {leaf})); show("tree", a);
    Event event = new Event(); event.text("none");
    a = orb.create_any(); EventHelper.insert(a, event); show("event", a);
    Letter letter = new Letter(); letter.small('b', (byte) 5);
    a = orb.create_any(); LetterHelper.insert(a, letter); show("letter", a);
    a = orb.create_any();
    a.insert_fixed(new java.math.BigDecimal("-1234567.89"), orb.create_fixed_tc((short) 9, (short) 2));
    show("fixed", a);
    a = orb.create_any(); GridHelper.insert(a, new int[][] {{1, 2, 3}, {4, 5, 6}}); show("grid", a);
    a = orb.create_any(); OctetsHelper.insert(a, new byte[] {7, 8, 9}); show("octets", a);
    a = orb.create_any(); RejectedHelper.insert(a, new Rejected("closed", 42)); show("rejected", a);
    a = orb.create_any(); MixedHelper.insert(a, mixed()); show("mixed", a);
    Any inner = orb.create_any(); inner.insert_short((short) 9);
    a = orb.create_any(); PairHelper.insert(a, new Pair(mixed(), mixed(), inner)); show("pair", a);
    a = orb.create_any(); TargetHelper.insert(a, null); show("nil", a);
    a = orb.create_any(); a.insert_TypeCode(TreeHelper.type()); show("type_code", a);
    show("null", orb.create_any());
    a = orb.create_any(); a.type(orb.get_primitive_tc(TCKind.tk_void)); show("void", a);
    a = orb.create_any(); a.insert_boolean(true); show("boolean", a);
    a = orb.create_any(); a.insert_octet((byte) 200); show("octet", a);
    a = orb.create_any(); a.insert_char('\u00e9'); show("char", a);
    a = orb.create_any(); a.insert_short((short) -2); show("short", a);
    a = orb.create_any(); a.insert_ushort((short) 65534); show("ushort", a);
    a = orb.create_any(); a.insert_ulong((int) 4294967294L); show("ulong", a);
    a = orb.create_any(); a.insert_longlong(-2); show("longlong", a);
    a = orb.create_any(); a.insert_ulonglong(-2L); show("ulonglong", a);
    a = orb.create_any(); a.insert_float(-0.25f); show("float", a);
    a = orb.create_any(); a.insert_double(1e300); show("double", a);
    a = orb.create_any(); CodeHelper.insert(a, "12345678"); show("code", a);
    a = orb.create_any(); WideCodeHelper.insert(a, "1234\u20ac"); show("wide_code", a);
    short[] few = {1, 2, 3};
    a = orb.create_any(); FewHelper.insert(a, few); show("few", a);
    Any one = orb.create_any(); one.insert_string("one");
    Any two = orb.create_any(); two.insert_double(2);
    a = orb.create_any(); AnysHelper.insert(a, new Any[] {one, two}); show("anys", a);
    a = orb.create_any(); FlagsHelper.insert(a, new boolean[] {true, false, true}); show("flags", a);
    a = orb.create_any(); DoublesHelper.insert(a, new double[] {0.5, -0.5}); show("doubles", a);
    a = orb.create_any(); SidesHelper.insert(a, new Side[] {Side.sell, Side.buy}); show("sides", a);
    Flag flag = new Flag(); flag.yes(9);
    a = orb.create_any(); FlagHelper.insert(a, flag); show("flag", a);
    flag = new Flag(); flag.__default();
    a = orb.create_any(); FlagHelper.insert(a, flag); show("no_flag", a);
    Big big = new Big(); big.low("deep");
    a = orb.create_any(); BigHelper.insert(a, big); show("big", a);
    big = new Big(); big.rest((byte) 3);
    a = orb.create_any(); BigHelper.insert(a, big); show("big_default", a);
    Small small = new Small(); small.list(few);
    a = orb.create_any(); SmallHelper.insert(a, small); show("small", a);
    Wide wide = new Wide(); wide.one(0.125);
    a = orb.create_any(); WideHelper.insert(a, wide); show("wide", a);
    a = orb.create_any(); NothingHelper.insert(a, new Nothing()); show("nothing", a);
    a = orb.create_any();
    EmptiesHelper.insert(a, new Empties(new short[0], new Any[0], "", orb.create_any()));
    show("empties", a);
    a = orb.create_any(); TargetsHelper.insert(a, new Targets(null, null, null)); show("targets", a);
    TypeCode tc = orb.create_abstract_interface_tc("IDL:Golden/Ab:1.0", "Ab");
    a = orb.create_any(); a.insert_TypeCode(tc); show("tc_abstract", a);
    TypeCode text = orb.create_string_tc(0);
    tc = orb.create_value_box_tc("IDL:Golden/Bo:1.0", "Bo", text);
    a = orb.create_any(); a.insert_TypeCode(tc); show("tc_box", a);
    TypeCode number = orb.get_primitive_tc(TCKind.tk_long);
    ValueMember[] members = {
      new ValueMember("a", "", "", "1.0", number, null, PUBLIC_MEMBER.value),
      new ValueMember("b", "", "", "1.0", text, null, PRIVATE_MEMBER.value)};
    TypeCode base = orb.create_value_tc("IDL:Golden/Base:1.0", "Base", VM_NONE.value, null, members);
    a = orb.create_any(); a.insert_TypeCode(base); show("tc_value", a);
    a = orb.create_any(); a.insert_TypeCode(orb.get_primitive_tc(TCKind.tk_objref));
    show("tc_object", a);
  }
}
