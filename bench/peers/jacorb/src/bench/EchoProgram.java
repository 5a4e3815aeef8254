package bench;

import Bench.AMI_EchoerHandler;
import Bench.AMI_EchoerHandlerHelper;
import Bench.AMI_EchoerHandlerPOA;
import Bench.Echoer;
import Bench.EchoerHelper;
import Bench.EchoerPOA;
import Bench._EchoerStub;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.omg.CORBA.ORB;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/**
 * JacORB's side of the bench: {@code serve} and {@code drive REFERENCE}, with the line protocol of
 * bench/src/orders.rs: the server prints {@code ready REFERENCE} and ends when its standard input does; the client
 * reads orders and answers each with one line.
 */
public final class EchoProgram {
  private static final class EchoServant extends EchoerPOA {
    private final AtomicLong taken = new AtomicLong();

    @Override
    public long echo(long v) {
      return v;
    }

    @Override
    public void send(long v) {
      taken.incrementAndGet();
    }

    @Override
    public long received() {
      return taken.get();
    }

    @Override
    public byte[] echo_octets(byte[] data) {
      return data;
    }
  }

  public static void main(String[] args) throws Exception {
    Properties settings = new Properties();
    settings.put("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
    settings.put("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
    settings.put("jacorb.log.default.verbosity", "0");
    settings.put("OAIAddr", "127.0.0.1");
    for (String name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith("jacorb.")) {
        settings.put(name, System.getProperty(name));
      }
    }
    ORB orb = ORB.init(new String[0], settings);
    if (args.length == 1 && args[0].equals("serve")) {
      serve(orb);
    } else if (args.length == 2 && args[0].equals("drive")) {
      drive(orb, EchoerHelper.narrow(orb.string_to_object(args[1])));
    } else {
      System.err.println("usage: serve | drive REFERENCE");
      System.exit(1);
    }
    // Halts rather than waits for JacORB's own shutdown, which takes seconds.
    Runtime.getRuntime().halt(0);
  }

  private static void serve(ORB orb) throws Exception {
    POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
    EchoServant servant = new EchoServant();
    org.omg.CORBA.Object reference = poa.servant_to_reference(servant);
    poa.the_POAManager().activate();
    System.out.println("ready " + orb.object_to_string(reference));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    while (in.readLine() != null) {}
  }

  private static void drive(ORB orb, Echoer echo) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.trim().split(" +");
      String answer;
      try {
        answer = obey(orb, echo, words);
      } catch (org.omg.CORBA.SystemException e) {
        answer = "error " + e;
      }
      System.out.println(answer);
      System.out.flush();
    }
  }

  private static String obey(ORB orb, Echoer echo, String[] words) throws Exception {
    int[] n = new int[4];
    for (int i = 1; i < words.length; i++) {
      n[i] = Integer.parseInt(words[i]);
    }
    switch (words[0]) {
      case "latency":
        return latency(echo, n[1], n[2]);
      case "threads":
        return threads(echo, n[1], n[2], n[3]);
      case "oneways":
        return oneways(echo, n[1]);
      case "pipelined":
        return pipelined(orb, echo, n[1]);
      case "octets":
        return octets(echo, n[1], n[2], n[3]);
      default:
        return "error JacORB's client does not know the order " + words[0];
    }
  }

  private static String latency(Echoer echo, int warmUp, int calls) {
    for (int i = 0; i < warmUp; i++) {
      echo.echo(i);
    }
    long[] samples = new long[calls];
    long before = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      if (echo.echo(i) != i) {
        return "error the echo came back changed";
      }
      long after = System.nanoTime();
      samples[i] = after - before;
      before = after;
    }
    Arrays.sort(samples);
    StringBuilder out = new StringBuilder("samples");
    for (int i = 0; i < calls; ) {
      int j = i;
      while (j < calls && samples[j] == samples[i]) {
        j++;
      }
      out.append(' ').append(samples[i]).append(':').append(j - i);
      i = j;
    }
    return out.toString();
  }

  private static String threads(Echoer echo, int count, int warmUpMs, int windowMs) throws Exception {
    AtomicBoolean measuring = new AtomicBoolean();
    AtomicBoolean over = new AtomicBoolean();
    AtomicBoolean wrong = new AtomicBoolean();
    AtomicLong total = new AtomicLong();
    Thread[] callers = new Thread[count];
    for (int t = 0; t < count; t++) {
      callers[t] =
          new Thread(
              () -> {
                long calls = 0;
                try {
                  while (!over.get()) {
                    if (echo.echo(42) != 42) {
                      wrong.set(true);
                    }
                    if (measuring.get()) {
                      calls++;
                    }
                  }
                } catch (org.omg.CORBA.SystemException e) {
                  if (wrong.compareAndSet(false, true)) {
                    System.err.println("JacORB client thread: " + e);
                  }
                }
                total.addAndGet(calls);
              });
      callers[t].start();
    }
    Thread.sleep(warmUpMs);
    long before = System.nanoTime();
    measuring.set(true);
    Thread.sleep(windowMs);
    over.set(true);
    long time = System.nanoTime() - before;
    for (Thread caller : callers) {
      caller.join();
    }
    return wrong.get() ? "error a call failed or came back changed" : "rate " + total.get() + " " + time;
  }

  /** Counts replies and adds up what they brought. */
  private static final class Handler extends AMI_EchoerHandlerPOA {
    private final AtomicLong sum = new AtomicLong();
    private final AtomicLong replies = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();

    @Override
    public void echo(long v) {
      sum.addAndGet(v);
      replies.incrementAndGet();
    }

    @Override
    public void echo_excep(org.omg.Messaging.ExceptionHolder holder) {
      failures.incrementAndGet();
    }

    // JacORB has a handler for oneways, too.
    @Override
    public void send() {}

    @Override
    public void send_excep(org.omg.Messaging.ExceptionHolder holder) {}

    @Override
    public void received(long v) {}

    @Override
    public void received_excep(org.omg.Messaging.ExceptionHolder holder) {}

    @Override
    public void echo_octets(byte[] v) {}

    @Override
    public void echo_octets_excep(org.omg.Messaging.ExceptionHolder holder) {}
  }

  private static String pipelined(ORB orb, Echoer echo, int calls) throws Exception {
    POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
    poa.the_POAManager().activate();
    Handler handler = new Handler();
    AMI_EchoerHandler reference = AMI_EchoerHandlerHelper.narrow(poa.servant_to_reference(handler));
    _EchoerStub stub = (_EchoerStub) echo;
    long before = System.nanoTime();
    for (long i = 0; i < calls; i++) {
      stub.sendc_echo(reference, i);
    }
    while (handler.replies.get() + handler.failures.get() < calls) {
      Thread.sleep(1);
      if (System.nanoTime() - before > 50_000_000_000L) {
        return "error not answered within 50 s: " + handler.replies.get() + " of " + calls;
      }
    }
    long time = System.nanoTime() - before;
    boolean right = handler.sum.get() == (long) calls * (calls - 1) / 2;
    return right ? "rate " + calls + " " + time : "error calls failed or came back changed";
  }

  private static String oneways(Echoer echo, int windowMs) {
    long takenBefore = echo.received();
    long sent = 0;
    long before = System.nanoTime();
    long end = before + windowMs * 1_000_000L;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 100; i++) {
        echo.send(i);
      }
      sent += 100;
    }
    while (echo.received() < takenBefore + sent) {}
    return "rate " + sent + " " + (System.nanoTime() - before);
  }

  private static String octets(Echoer echo, int size, int warmUpMs, int windowMs) {
    byte[] data = new byte[size];
    for (int i = 0; i < size; i++) {
      data[i] = (byte) (i * 31);
    }
    long start = System.nanoTime() + warmUpMs * 1_000_000L;
    do {
      if (!Arrays.equals(echo.echo_octets(data), data)) {
        return "error the octets came back changed";
      }
    } while (System.nanoTime() < start);
    long calls = 0;
    long before = System.nanoTime();
    long end = before + windowMs * 1_000_000L;
    long now;
    do {
      if (echo.echo_octets(data).length != size) {
        return "error octets were lost";
      }
      calls++;
      now = System.nanoTime();
    } while (now < end);
    return "rate " + calls + " " + (now - before);
  }
}
