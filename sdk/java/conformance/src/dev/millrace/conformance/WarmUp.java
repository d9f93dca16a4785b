package dev.millrace.conformance;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Runs the program once, with a server that gives the same answer to everything, so that an archive
 * of the classes can be made. The archive makes later starts faster.
 */
final class WarmUp {
  private static final String TIMES =
      "'created_at':'2030-01-01T00:00:00.000Z','run_at':'2030-01-01T00:00:00.000Z'";
  private static final String CLAIMED =
      "{'id':'i','queue':'q','type':'t','payload':{'script':[['log','info','x'],['progress',1,'m',2],"
          + "['fail','no']]},'attempt':1,'max_attempts':5,'meta':{'a':'b'},'tags':['x'],"
          + TIMES
          + ",'lease':{'token':1,'expires_at':'2030-01-01T00:00:30.000Z','lease_ms':1000}}";
  private static final String ANSWER =
      "{'id':'i','state':'succeeded','queue':'q','type':'t','result':1,"
          + TIMES
          + ",'acks':[{'status':200,'id':'i','state':'succeeded'}],'heartbeats':[{'status':200}],"
          + "'jobs':["
          + CLAIMED
          + "],'commands':[],'items':[],'results':[],'next_cursor':null}";

  private WarmUp() {}

  public static void main(String[] arguments) throws Exception {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    HttpServer server = HttpServer.create(new InetSocketAddress(loopback, 0), 0);
    server.createContext("/", WarmUp::answer);
    server.start();
    String commands =
        String.join(
            "\n",
            "{'id':1,'do':'configure','url':'http://127.0.0.1:"
                + server.getAddress().getPort()
                + "'}",
            "{'id':2,'do':'submit','job':{'type':'t','payload':[1.5,{'a':null}],'tags':['x']}}",
            "{'id':3,'do':'wait','job':'i','timeout_ms':1000}",
            "{'id':4,'do':'list_all','filter':{'state':'dead'}}",
            "{'id':5,'do':'logs','job':'i'}",
            "{'id':6,'do':'worker','name':'w','types':['t'],'concurrency':1,'grace_ms':1}");
    InputStream text = new ByteArrayInputStream(json(commands + "\n"));
    System.setIn(
        new SequenceInputStream(java.util.Collections.enumeration(List.of(text, new Late()))));
    Program.main(arguments);
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String asked = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    // A worker that is told to stop releases the jobs it gets: a job in each answer never ends.
    boolean claims = asked.contains("\"claim\"");
    byte[] bytes = json(ANSWER + (claims ? CLAIMED : "") + "]}");
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private static byte[] json(String text) {
    return text.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
  }

  /** Ends one second after more bytes are requested. */
  private static final class Late extends InputStream {
    @Override
    public int read() throws IOException {
      try {
        Thread.sleep(1_000);
      } catch (InterruptedException told) {
        throw new IOException(told);
      }
      return -1;
    }
  }
}
