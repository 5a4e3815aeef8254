// Uses a typed channel through JacORB's stubs, as supplier and as consumer of Stock::Ticker,
// pushing and pulling; one line for each thing that was seen. The test compares the lines, and the
// other side of the channel. omniORB's client (typed_client.cc) prints the same.
// Arguments: the reference of the channel.
import Stock.*;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.omg.CORBA.Any;
import org.omg.CORBA.AnyHolder;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.ByteHolder;
import org.omg.CORBA.DoubleHolder;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.LongHolder;
import org.omg.CORBA.NO_IMPLEMENT;
import org.omg.CORBA.ORB;
import org.omg.CORBA.StringHolder;
import org.omg.CORBA.TCKind;
import org.omg.CosEventChannelAdmin.*;
import org.omg.CosEventComm.*;
import org.omg.CosTypedEventChannelAdmin.*;
import org.omg.CosTypedEventComm.*;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;
import org.omg.PortableServer.Servant;

public class TypedClient {
  static ORB orb;
  static POA poa;
  static final BlockingQueue<String> seen = new LinkedBlockingQueue<>(); // by the push consumer
  static final BlockingQueue<Integer> prices = new LinkedBlockingQueue<>(); // to who pulls
  static final BlockingQueue<Long> ticks = new LinkedBlockingQueue<>();

  static String quoted(String words) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : words.toCharArray()) out.append(c < 127 ? "" + c : String.format("\\u%04x", (int) c));
    return out.append("\"").toString();
  }

  // As C++ writes it.
  static String number(double value) {
    String text = Double.toString(value);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }

  static String price(String symbol, int cents) {
    return "price " + symbol + " " + cents;
  }

  static String offer(Quote data, String remark, Any extra, Reason why) {
    StringBuilder out = new StringBuilder("offer '" + data.symbol + "' " + data.cents + " " + data.at.value() + " [");
    for (double value : data.depth) out.append(" ").append(number(value));
    out.append(" ] ").append(quoted(remark)).append(" any ");
    if (extra.type().kind() == TCKind.tk_long) out.append("long ").append(extra.extract_long());
    if (extra.type().kind() == TCKind.tk_string) out.append("string ").append(extra.extract_string());
    switch (why.discriminator().value()) {
      case Venue._XETRA:
        return out.append(" text ").append(why.text()).toString();
      case Venue._NYSE:
        return out.append(" code ").append(why.code()).toString();
      default:
        return out.append(" other ").append(why.discriminator().value()).append(" ").append(why.other() & 255).toString();
    }
  }

  static String halt(byte first, double second) {
    return "halt " + (first & 255) + " " + number(second);
  }

  static String next() throws InterruptedException {
    String what = seen.poll(120, TimeUnit.SECONDS);
    return what == null ? "nothing" : what;
  }

  static class Called extends TickerPOA {
    public void tick(long at) {
      seen.add("tick " + at);
    }

    public void price(String symbol, int cents) {
      seen.add(TypedClient.price(symbol, cents));
    }

    public void offer(Quote data, String remark, Any extra, Reason why) {
      seen.add(TypedClient.offer(data, remark, extra, why));
    }

    public void halt(byte first, double second) {
      seen.add(TypedClient.halt(first, second));
    }

    public void closed() {
      seen.add("closed");
    }
  }

  static class Consumer extends TypedPushConsumerPOA {
    final org.omg.CORBA.Object typed;

    Consumer(org.omg.CORBA.Object typed) {
      this.typed = typed;
    }

    public void push(Any data) {
      seen.add("an any");
    }

    public void disconnect_push_consumer() {
      seen.add("disconnected");
    }

    public org.omg.CORBA.Object get_typed_consumer() {
      return typed;
    }
  }

  // Waits for what is to be given; for ever, if nothing comes.
  static <T> T waitFor(BlockingQueue<T> given) {
    try {
      return given.take();
    } catch (InterruptedException e) {
      throw new NO_IMPLEMENT();
    }
  }

  static void never() {
    waitFor(new LinkedBlockingQueue<String>());
  }

  static class Source extends PullTickerPOA {
    public void tick(LongHolder at) {
      at.value = waitFor(ticks);
    }

    public boolean try_tick(LongHolder at) {
      return false;
    }

    public void price(StringHolder symbol, IntHolder cents) {
      cents.value = waitFor(prices);
      symbol.value = "pulled";
    }

    public boolean try_price(StringHolder symbol, IntHolder cents) {
      symbol.value = "";
      return false;
    }

    public void offer(QuoteHolder data, StringHolder remark, AnyHolder extra, ReasonHolder why) {
      never();
    }

    public boolean try_offer(QuoteHolder data, StringHolder remark, AnyHolder extra, ReasonHolder why) {
      throw new NO_IMPLEMENT();
    }

    public void halt(ByteHolder first, DoubleHolder second) {
      never();
    }

    public boolean try_halt(ByteHolder first, DoubleHolder second) {
      throw new NO_IMPLEMENT();
    }

    public void closed() {
      never();
    }

    public boolean try_closed() {
      throw new NO_IMPLEMENT();
    }
  }

  static class Supplier extends TypedPullSupplierPOA {
    final org.omg.CORBA.Object typed;

    Supplier(org.omg.CORBA.Object typed) {
      this.typed = typed;
    }

    public Any pull() {
      throw new NO_IMPLEMENT();
    }

    public Any try_pull(BooleanHolder hasEvent) {
      return orb.create_any();
    }

    public void disconnect_pull_supplier() {}

    public org.omg.CORBA.Object get_typed_supplier() {
      return typed;
    }
  }

  static org.omg.CORBA.Object serve(Servant servant) throws Exception {
    return poa.servant_to_reference(servant);
  }

  static void pushAll(Ticker ticker) {
    ticker.price("ACME", 4711);
    Any extra = orb.create_any();
    extra.insert_long(70000);
    Reason why = new Reason();
    why.text("darum");
    ticker.offer(new Quote("EMCA", -7, Venue.NYSE, new double[] {1.5, -2}), "gr\u00f6\u00dfer", extra, why);
    extra = orb.create_any();
    extra.insert_string("zwei");
    why = new Reason();
    why.other(Venue.LSE, (byte) 255);
    ticker.offer(new Quote("", 2147483647, Venue.LSE, new double[0]), "", extra, why);
    ticker.halt((byte) 200, -0.25);
    ticker.closed();
    ticker.tick(-5000000000L);
  }

  static void pullAll(PullTicker pulls) {
    StringHolder symbol = new StringHolder();
    IntHolder cents = new IntHolder();
    pulls.price(symbol, cents);
    System.out.println("pulled: " + price(symbol.value, cents.value));
    for (int i = 0; i < 2; ++i) {
      QuoteHolder data = new QuoteHolder();
      StringHolder remark = new StringHolder();
      AnyHolder extra = new AnyHolder();
      ReasonHolder why = new ReasonHolder();
      pulls.offer(data, remark, extra, why);
      System.out.println("pulled: " + offer(data.value, remark.value, extra.value, why.value));
    }
    ByteHolder first = new ByteHolder();
    DoubleHolder second = new DoubleHolder();
    pulls.halt(first, second);
    System.out.println("pulled: " + halt(first.value, second.value));
    pulls.closed();
    LongHolder at = new LongHolder();
    pulls.tick(at);
    System.out.println("pulled: tick " + at.value);
  }

  static void tryAll(PullTicker pulls) {
    boolean found = pulls.try_offer(new QuoteHolder(), new StringHolder(), new AnyHolder(), new ReasonHolder());
    System.out.println("try_offer: " + (found ? 1 : 0));
    found = pulls.try_halt(new ByteHolder(), new DoubleHolder());
    System.out.println("try_halt: " + (found ? 1 : 0));
    System.out.println("try_closed: " + (pulls.try_closed() ? 1 : 0));
  }

  static void refusals(TypedSupplierAdmin suppliers, TypedConsumerAdmin consumers) throws Exception {
    try {
      suppliers.obtain_typed_push_consumer(HasOutHelper.id());
    } catch (InterfaceNotSupported e) {
      System.out.println("InterfaceNotSupported");
    }
    try {
      consumers.obtain_typed_push_supplier("IDL:Nobody/Knows:1.0");
    } catch (NoSuchImplementation e) {
      System.out.println("NoSuchImplementation");
    }
    ProxyPushSupplier proxy = consumers.obtain_typed_push_supplier(TickerHelper.id());
    try {
      proxy.connect_push_consumer(PushConsumerHelper.narrow(serve(new Consumer(null))));
    } catch (TypeError e) {
      System.out.println("TypeError");
    }
    proxy.disconnect_push_supplier();
  }

  static void use(String reference) throws Exception {
    TypedEventChannel channel = TypedEventChannelHelper.narrow(orb.string_to_object(reference));
    TypedConsumerAdmin consumers = channel.for_consumers();
    TypedSupplierAdmin suppliers = channel.for_suppliers();
    refusals(suppliers, consumers);

    PushConsumer consumer = PushConsumerHelper.narrow(serve(new Consumer(serve(new Called()))));
    consumers.obtain_typed_push_supplier(TickerHelper.id()).connect_push_consumer(consumer);
    TypedProxyPullSupplier pullProxy = consumers.obtain_typed_pull_supplier(PullTickerHelper.id());
    pullProxy.connect_pull_consumer(null);
    PullTicker pulls = PullTickerHelper.narrow(pullProxy.get_typed_supplier());
    TypedProxyPushConsumer pushProxy = suppliers.obtain_typed_push_consumer(TickerHelper.id());
    pushProxy.connect_push_supplier(null);
    org.omg.CORBA.Object typed = pushProxy.get_typed_consumer();
    System.out.println("is a Clock: " + (ClockHelper.narrow(typed) != null ? 1 : 0));
    Ticker ticker = TickerHelper.narrow(typed);

    pushAll(ticker);
    for (int i = 0; i < 6; ++i) System.out.println("pushed: " + next());
    pullAll(pulls);
    tryAll(pulls);

    PullSupplier source = PullSupplierHelper.narrow(serve(new Supplier(serve(new Source()))));
    suppliers.obtain_typed_pull_consumer(PullTickerHelper.id()).connect_pull_supplier(source);
    prices.add(3);
    System.out.println("pull to push: " + next());
    ticks.add(4L);
    System.out.println("pull to push: " + next());
    StringHolder symbol = new StringHolder();
    IntHolder cents = new IntHolder();
    pulls.price(symbol, cents);
    LongHolder at = new LongHolder();
    pulls.tick(at);
    System.out.println("pull to pull: " + price(symbol.value, cents.value) + ", tick " + at.value);

    for (int i = 0; i < 6; ++i) System.out.println("from the test: " + next());
    pullAll(pulls);
    // The test closes our input when its own consumers have heard everything, too.
    System.in.read();
    channel.destroy();
    System.out.println("destroyed: " + next());
  }

  public static void main(String[] arguments) {
    int status = 1;
    try {
      orb = ORB.init(arguments, null);
      poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
      poa.the_POAManager().activate();
      use(arguments[0]);
      status = 0;
    } catch (Throwable e) {
      System.out.println("stopped by " + e);
      e.printStackTrace();
    }
    System.out.flush();
    Runtime.getRuntime().halt(status);
  }
}
