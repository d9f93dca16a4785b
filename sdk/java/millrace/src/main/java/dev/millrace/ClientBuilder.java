package dev.millrace;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ProxySelector;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Settings of a client. What is not set comes from the environment. For one thread. */
public final class ClientBuilder {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

  private String url;
  private String token;
  private Duration timeout = Duration.ofSeconds(30);
  private Codec codec = RecordCodec.standard();
  private Supplier<TraceContext> trace;
  private SSLContext tls;
  private ProxySelector proxy;

  ClientBuilder() {}

  /**
   * The server's address.
   *
   * @param url without it {@code MILLRACE_URL}, else {@code http://127.0.0.1:7600}
   * @return this builder
   */
  public ClientBuilder url(String url) {
    this.url = url;
    return this;
  }

  /**
   * The token that the server knows the application by.
   *
   * @param token without it {@code MILLRACE_TOKEN}, else none
   * @return this builder
   */
  public ClientBuilder token(String token) {
    this.token = token;
    return this;
  }

  /**
   * The deadline of each whole call, all tries and pauses together.
   *
   * @param timeout 30 seconds unless it is set
   * @return this builder
   */
  public ClientBuilder timeout(Duration timeout) {
    this.timeout = timeout;
    return this;
  }

  /**
   * How payloads, results and checkpoints become JSON.
   *
   * @param codec {@link RecordCodec#standard} unless it is set
   * @return this builder
   */
  public ClientBuilder codec(Codec codec) {
    this.codec = codec;
    return this;
  }

  /**
   * Gives the trace that a submission belongs to. Where it gives null, a submission within a
   * handler belongs to the trace of the handler's job.
   *
   * @param current called in the thread that submits
   * @return this builder
   */
  public ClientBuilder trace(Supplier<TraceContext> current) {
    this.trace = current;
    return this;
  }

  /**
   * How the connections are encrypted.
   *
   * @param tls the platform's own unless it is set
   * @return this builder
   */
  public ClientBuilder tls(SSLContext tls) {
    this.tls = tls;
    return this;
  }

  /**
   * Trusts the certificates in a file, and no others.
   *
   * @param pem a file of one or several certificates in PEM
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
   * Chooses the proxy of a connection.
   *
   * @param proxy the platform's default unless it is set, which follows {@code https.proxyHost} and
   *     its like
   * @return this builder
   */
  public ClientBuilder proxy(ProxySelector proxy) {
    this.proxy = proxy;
    return this;
  }

  /**
   * The client. It opens no connection before its first call.
   *
   * @return a client for all threads
   */
  public MillraceClient build() {
    HttpClient.Builder http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(timeout.compareTo(CONNECT_TIMEOUT) < 0 ? timeout : CONNECT_TIMEOUT);
    if (tls != null) http.sslContext(tls);
    if (proxy != null) http.proxy(proxy);
    String address = firstOf(url, System.getenv("MILLRACE_URL"), "http://127.0.0.1:7600");
    String secret = firstOf(token, System.getenv("MILLRACE_TOKEN"), null);
    Transport transport = new Transport(http.build(), address, secret, timeout);
    return new MillraceClient(transport, new ApiCodec(codec), new Preparer(trace));
  }

  private static String firstOf(String set, String environment, String otherwise) {
    if (set != null) return set;
    return environment != null && !environment.isEmpty() ? environment : otherwise;
  }
}
