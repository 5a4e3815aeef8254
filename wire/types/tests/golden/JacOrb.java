// Prints the octets of anys as JacORB writes them; see README.md for the command.
import Golden.*;
import org.jacorb.orb.CDROutputStream;
import org.jacorb.orb.CodeSet;
import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;

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
  }
}
