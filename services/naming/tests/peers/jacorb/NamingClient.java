// Uses a naming service through JacORB's stubs: every operation and exception, one line each.
// The test compares the lines; omniORB's client (naming_client.cc) prints the same.
import org.omg.CORBA.ORB;
import org.omg.CosNaming.*;
import org.omg.CosNaming.NamingContextExtPackage.InvalidAddress;
import org.omg.CosNaming.NamingContextPackage.*;

public class NamingClient {
  interface Body {
    void run() throws Exception;
  }

  static NameComponent[] name(String... parts) {
    NameComponent[] n = new NameComponent[parts.length / 2];
    for (int i = 0; i < n.length; i++) n[i] = new NameComponent(parts[2 * i], parts[2 * i + 1]);
    return n;
  }

  static String text(NameComponent[] n) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < n.length; i++) out.append(i > 0 ? "/" : "").append(n[i].id).append("|").append(n[i].kind);
    return out.toString();
  }

  static String why(NotFoundReason reason) {
    if (reason == NotFoundReason.missing_node) return "missing_node";
    return reason == NotFoundReason.not_context ? "not_context" : "not_object";
  }

  static int bit(boolean b) {
    return b ? 1 : 0;
  }

  static void refused(String what, Body body) throws Exception {
    String outcome;
    try {
      body.run();
      outcome = "done";
    } catch (NotFound e) {
      outcome = "NotFound " + why(e.why) + " " + text(e.rest_of_name);
    } catch (CannotProceed e) {
      outcome = "CannotProceed " + text(e.rest_of_name) + " " + bit(e.cxt != null);
    } catch (InvalidName e) {
      outcome = "InvalidName";
    } catch (AlreadyBound e) {
      outcome = "AlreadyBound";
    } catch (NotEmpty e) {
      outcome = "NotEmpty";
    } catch (InvalidAddress e) {
      outcome = "InvalidAddress";
    }
    System.out.println(what + ": " + outcome);
  }

  public static void main(String[] args) throws Exception {
    ORB orb = ORB.init(args, null);
    NamingContextExt root = NamingContextExtHelper.narrow(orb.resolve_initial_references("NameService"));
    NamingContext desk = root.bind_new_context(name("desk", ""));
    NamingContext drawer = desk.bind_new_context(name("drawer", "d"));
    root.bind(name("desk", "", "pen", "ink"), drawer);
    org.omg.CORBA.Object pen = root.resolve(name("desk", "", "pen", "ink"));
    System.out.println("resolve: " + bit(pen._is_equivalent(drawer)) + bit(pen._is_a("IDL:omg.org/CosNaming/NamingContext:1.0")));
    refused("bind again", () -> root.bind(name("desk", "", "pen", "ink"), drawer));
    refused("rebind", () -> root.rebind(name("desk", "", "pen", "ink"), desk));
    refused("rebind a context", () -> root.rebind(name("desk", "", "drawer", "d"), desk));
    refused("rebind_context of an object", () -> root.rebind_context(name("desk", "", "pen", "ink"), desk));
    refused("rebind_context", () -> root.rebind_context(name("desk", "", "drawer", "d"), drawer));
    refused("missing", () -> root.resolve(name("desk", "", "missing_name", "x", "y", "")));
    refused("not a context", () -> root.resolve(name("desk", "", "pen", "ink", "y", "")));
    refused("empty", () -> root.resolve(new NameComponent[0]));
    refused("not empty", () -> desk.destroy());
    NamingContext loose = root.new_context();
    refused("bind_context", () -> root.bind_context(name("loose", ""), loose));
    refused("bind_context again", () -> root.bind_context(name("loose", ""), loose));
    for (int i = 0; i < 7; i++) loose.bind(name("n" + i, ""), pen);
    BindingListHolder listed = new BindingListHolder();
    BindingIteratorHolder rest = new BindingIteratorHolder();
    loose.list(3, listed, rest);
    System.out.print("list: " + listed.value.length + " " + text(listed.value[0].binding_name) + " " + bit(listed.value[0].binding_type == BindingType.nobject));
    BindingListHolder more = new BindingListHolder();
    boolean has = rest.value.next_n(2, more);
    BindingHolder one = new BindingHolder();
    boolean hasOne = rest.value.next_one(one);
    System.out.print(", " + bit(has) + more.value.length + ", " + bit(hasOne) + " " + text(one.value.binding_name));
    has = rest.value.next_n(10, more);
    System.out.println(", " + bit(has) + more.value.length);
    rest.value.destroy();
    System.out.println("to_string: " + root.to_string(name("a/b", "c.d", "", "k")));
    System.out.println("to_name: " + text(root.to_name("a\\/b.c\\.d/.k")));
    System.out.println("to_url: " + root.to_url(":host:4711/key", "a\\/b/<c>"));
    refused("to_url without an address", () -> root.to_url("", "a"));
    refused("to_name of nonsense", () -> root.to_name("a//b"));
    System.out.println("resolve_str: " + bit(root.resolve_str("desk/drawer.d")._is_equivalent(drawer)));
    System.out.println("corbaname: " + bit(orb.string_to_object("corbaname:rir:#desk/drawer.d")._is_equivalent(drawer)));
    refused("unbind", () -> root.unbind(name("desk", "", "pen", "ink")));
    refused("unbind again", () -> root.unbind(name("desk", "", "pen", "ink")));
    refused("destroy", () -> drawer.destroy());
    try {
      drawer.new_context();
    } catch (org.omg.CORBA.OBJECT_NOT_EXIST e) {
      System.out.println("destroyed: OBJECT_NOT_EXIST");
    }
    orb.shutdown(true);
  }
}
