// Uses a channel through JacORB's stubs, as supplier and as consumer, pushing and pulling; one line
// for each thing that was seen. The test compares the lines, and the other side of the channel.
// omniORB's client (event_client.cc) prints the same.
// Arguments: the reference of the channel, how many events come from the test.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.ORB;
import org.omg.CORBA.OctetSeqHelper;
import org.omg.CORBA.TCKind;
import org.omg.CosEventChannelAdmin.*;
import org.omg.CosEventComm.*;
import org.omg.CosNaming.NameComponent;
import org.omg.CosNaming.NameHelper;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

public class EventClient {
  static ORB orb;
  static final BlockingQueue<String> seen = new LinkedBlockingQueue<>(); // by the push consumer
  static final BlockingQueue<Any> toGive = new LinkedBlockingQueue<>(); // to who pulls

  static String quoted(String words) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : words.toCharArray()) out.append(c < 127 ? "" + c : String.format("\\u%04x", (int) c));
    return out.append("\"").toString();
  }

  static String text(Any any) {
    switch (any.type().kind().value()) {
      case TCKind._tk_short:
        return "short " + any.extract_short();
      case TCKind._tk_long:
        return "long " + any.extract_long();
      case TCKind._tk_longlong:
        return "long long " + any.extract_longlong();
      case TCKind._tk_ulonglong:
        return "unsigned long long " + Long.toUnsignedString(any.extract_ulonglong());
      case TCKind._tk_double:
        return "double " + any.extract_double();
      case TCKind._tk_boolean:
        return "boolean " + any.extract_boolean();
      case TCKind._tk_char:
        return "char " + any.extract_char();
      case TCKind._tk_string:
        return "string " + quoted(any.extract_string());
      case TCKind._tk_wstring:
        return "wstring " + quoted(any.extract_wstring());
      case TCKind._tk_any:
        return "any of " + text(any.extract_any());
      case TCKind._tk_objref:
        boolean is = any.extract_Object()._is_a("IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0");
        return "object " + (is ? 1 : 0);
      default:
        StringBuilder out = new StringBuilder();
        if (any.type().equivalent(OctetSeqHelper.type())) {
          out.append("octets");
          for (byte octet : OctetSeqHelper.extract(any)) out.append(" ").append(octet & 255);
          return out.toString();
        }
        if (any.type().equivalent(NameHelper.type())) {
          out.append("name");
          for (NameComponent part : NameHelper.extract(any)) out.append(" ").append(part.id).append(".").append(part.kind);
          return out.toString();
        }
        return "something else";
    }
  }

  interface Fill {
    void in(Any any);
  }

  static Any any(Fill fill) {
    Any any = orb.create_any();
    fill.in(any);
    return any;
  }

  static List<Any> allEvents(org.omg.CORBA.Object channel) {
    NameComponent[] name = {new NameComponent("desk", "wood"), new NameComponent("pen", "")};
    List<Any> events = new ArrayList<>();
    events.add(any(a -> a.insert_short((short) -300)));
    events.add(any(a -> a.insert_long(70000)));
    events.add(any(a -> a.insert_longlong(-5000000000L)));
    events.add(any(a -> a.insert_ulonglong(Long.parseUnsignedLong("9223372036854775813"))));
    events.add(any(a -> a.insert_double(2.5)));
    events.add(any(a -> a.insert_boolean(true)));
    events.add(any(a -> a.insert_char('c')));
    events.add(any(a -> a.insert_string("zw\u00f6lf")));
    events.add(any(a -> a.insert_wstring("zw\u00f6lf\u20ac")));
    events.add(any(a -> OctetSeqHelper.insert(a, new byte[] {1, 2, (byte) 255})));
    events.add(any(a -> NameHelper.insert(a, name)));
    events.add(any(a -> a.insert_any(any(b -> b.insert_long(8)))));
    events.add(any(a -> a.insert_Object(channel)));
    return events;
  }

  static String next() throws InterruptedException {
    String first = seen.poll(120, TimeUnit.SECONDS);
    return first == null ? "nothing" : first;
  }

  static class Consumer extends PushConsumerPOA {
    public void push(Any data) {
      seen.add(text(data));
    }

    public void disconnect_push_consumer() {
      seen.add("disconnected");
    }
  }

  static class Supplier extends PullSupplierPOA {
    public Any pull() throws Disconnected {
      try {
        return toGive.take();
      } catch (InterruptedException e) {
        throw new Disconnected();
      }
    }

    public Any try_pull(BooleanHolder hasEvent) {
      Any any = toGive.poll();
      hasEvent.value = any != null;
      return any != null ? any : orb.create_any();
    }

    public void disconnect_pull_supplier() {}
  }

  static void use(EventChannel channel, POA poa, int fromTest) throws Exception {
    ConsumerAdmin consumers = channel.for_consumers();
    SupplierAdmin suppliers = channel.for_suppliers();
    ProxyPushSupplier toConsumer = consumers.obtain_push_supplier();
    toConsumer.connect_push_consumer(PushConsumerHelper.narrow(poa.servant_to_reference(new Consumer())));
    ProxyPullSupplier pulled = consumers.obtain_pull_supplier();
    pulled.connect_pull_consumer(null);
    ProxyPushConsumer push = suppliers.obtain_push_consumer();
    push.connect_push_supplier(null);
    try {
      push.connect_push_supplier(null);
    } catch (AlreadyConnected e) {
      System.out.println("AlreadyConnected");
    }
    ProxyPushSupplier other = consumers.obtain_push_supplier();
    try {
      other.connect_push_consumer(null);
    } catch (org.omg.CORBA.BAD_PARAM e) {
      System.out.println("BAD_PARAM");
    }
    other.disconnect_push_supplier();

    List<Any> events = allEvents(channel);
    for (Any event : events) {
      push.push(event);
      System.out.println("push to push: " + next());
      System.out.println("push to pull: " + text(pulled.pull()));
    }
    BooleanHolder hasEvent = new BooleanHolder();
    pulled.try_pull(hasEvent);
    System.out.println("try_pull: " + (hasEvent.value ? 1 : 0));

    ProxyPullConsumer pulls = suppliers.obtain_pull_consumer();
    pulls.connect_pull_supplier(PullSupplierHelper.narrow(poa.servant_to_reference(new Supplier())));
    for (Any event : events) {
      toGive.add(event);
      System.out.println("pull to push: " + next());
      System.out.println("pull to pull: " + text(pulled.pull()));
    }
    for (int number = 0; number < fromTest; number++) {
      System.out.println("from the test, pushed: " + next());
      Any got;
      do got = pulled.try_pull(hasEvent);
      while (!hasEvent.value);
      System.out.println("from the test, pulled: " + text(got));
    }
    // The pull that waits ends before the channel does.
    toGive.add(any(a -> a.insert_long(4)));
    System.out.println("last: " + next());
    channel.destroy();
    System.out.println("destroyed: " + next());
  }

  public static void main(String[] args) throws Exception {
    orb = ORB.init(args, null);
    POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
    poa.the_POAManager().activate();
    EventChannel channel = EventChannelHelper.narrow(orb.string_to_object(args[0]));
    use(channel, poa, Integer.parseInt(args[1]));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
