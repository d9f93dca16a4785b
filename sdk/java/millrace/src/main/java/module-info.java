/** A client and a worker for Millrace, a durable job queue. */
module dev.millrace {
  requires java.logging;
  requires java.net.http;
  requires transitive java.sql;

  exports dev.millrace;
}
