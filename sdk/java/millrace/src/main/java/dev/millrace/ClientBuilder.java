package dev.millrace;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Builds a client. Settings that are not set come from the environment. Not thread-safe. */
public final class ClientBuilder {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
  private static final Pattern SCHEME = Pattern.compile("https?", Pattern.CASE_INSENSITIVE);

  private String url;
  private String token;
  private Duration timeout = Duration.ofSeconds(30);
  private Duration queueFullTimeout = Duration.ofSeconds(2);
  private Codec codec = RecordCodec.standard();
  private Supplier<TraceContext> trace;
  private SSLContext tls;
  private ProxySelector proxy;

  ClientBuilder() {}

  /**
   * Sets the server's address.
   *
   * @param url the URL; the default is {@code MILLRACE_URL}, else {@code http://127.0.0.1:7600}
   * @return this builder
   */
  public ClientBuilder url(String url) {
    this.url = url;
    return this;
  }

  /**
   * Sets the token that authenticates the application. Blanks and line ends around it are taken
   * off.
   *
   * @param token the bearer token; the default is {@code MILLRACE_TOKEN}, else none
   * @return this builder
   */
  public ClientBuilder token(String token) {
    this.token = token;
    return this;
  }

  /**
   * Sets the deadline of each whole call, including all its tries and pauses.
   *
   * @param timeout the deadline; the default is 30 seconds
   * @return this builder
   */
  public ClientBuilder timeout(Duration timeout) {
    this.timeout = timeout;
    return this;
  }

  /**
   * Sets for how long a submission is tried again that the server refuses because the queue is
   * full. A web request should not wait until there is room.
   *
   * @param timeout a part of the deadline; the default is 2 seconds, and zero means one try
   * @return this builder
   */
  public ClientBuilder queueFullTimeout(Duration timeout) {
    this.queueFullTimeout = timeout;
    return this;
  }

  /**
   * Sets the codec that converts payloads, results and checkpoints to JSON.
   *
   * @param codec the codec; the default is {@link RecordCodec#standard}
   * @return this builder
   */
  public ClientBuilder codec(Codec codec) {
    this.codec = codec;
    return this;
  }

  /**
   * Sets the source of the trace that a submission belongs to. If it returns null, a submission
   * within a handler belongs to the trace of the handler's job.
   *
   * @param current called in the thread that submits
   * @return this builder
   */
  public ClientBuilder trace(Supplier<TraceContext> current) {
    this.trace = current;
    return this;
  }

  /**
   * Sets the TLS context of the connections.
   *
   * @param tls the context; the default is the platform's
   * @return this builder
   */
  public ClientBuilder tls(SSLContext tls) {
    this.tls = tls;
    return this;
  }

  /**
   * Trusts only the certificates in a file.
   *
   * @param pem a file with one or more certificates in PEM
   * @return this builder
   * @throws UncheckedIOException if the file can't be read
   * @throws IllegalArgumentException if it holds no certificate
   */
  public ClientBuilder caFile(Path pem) {
    try (InputStream in = Files.newInputStream(pem)) {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      int count = 0;
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry("ca" + count++, one);
      }
      if (count == 0) throw new IllegalArgumentException(pem + " holds no certificate");
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted);
      tls = SSLContext.getInstance("TLS");
      tls.init(null, trust.getTrustManagers(), null);
      return this;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (GeneralSecurityException error) {
      throw new IllegalArgumentException(pem + " holds no certificate", error);
    }
  }

  /**
   * Sets the selector of proxies for connections.
   *
   * @param proxy the selector; the default is the platform's, which follows {@code https.proxyHost}
   *     and similar properties
   * @return this builder
   */
  public ClientBuilder proxy(ProxySelector proxy) {
    this.proxy = proxy;
    return this;
  }

  /**
   * Builds the client. It opens no connection before its first call.
   *
   * @return a thread-safe client
   * @throws IllegalArgumentException if the address is no URL of a server, or the token has a
   *     character that no token has
   */
  public MillraceClient build() {
    HttpClient.Builder http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(timeout.compareTo(CONNECT_TIMEOUT) < 0 ? timeout : CONNECT_TIMEOUT);
    if (tls != null) http.sslContext(tls);
    if (proxy != null) http.proxy(proxy);
    String address = firstOf(url, System.getenv("MILLRACE_URL"), "http://127.0.0.1:7600");
    String secret = checkedToken(firstOf(token, System.getenv("MILLRACE_TOKEN"), null));
    Transport transport =
        new Transport(http.build(), checkedUrl(address), secret, timeout, queueFullTimeout);
    return new MillraceClient(transport, new ApiCodec(codec), new Preparer(trace));
  }

  private static String checkedUrl(String url) {
    try {
      URI address = URI.create(url);
      if (address.getHost() != null && SCHEME.matcher(address.getScheme()).matches()) return url;
    } catch (IllegalArgumentException noUri) {
      // As any other text that is no address.
    }
    throw new IllegalArgumentException("the URL must be http://HOST or https://HOST, not " + url);
  }

  /** Returns the token without blanks around it; null if nothing is left. Never shows it. */
  private static String checkedToken(String token) {
    String bare = token == null ? "" : token.strip();
    for (int i = 0; i < bare.length(); i++) {
      char c = bare.charAt(i);
      if (c > ' ' && c < 0x7f) continue;
      throw new IllegalArgumentException(
          "the token has a character at position "
              + i
              + " that no token has; was it copied whole?");
    }
    return bare.isEmpty() ? null : bare;
  }

  private static String firstOf(String set, String environment, String otherwise) {
    if (set != null) return set;
    return environment != null && !environment.isEmpty() ? environment : otherwise;
  }
}
