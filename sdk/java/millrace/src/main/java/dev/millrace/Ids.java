package dev.millrace;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.UUID;

/** Makes the ids of jobs. */
final class Ids {
  private static final SecureRandom RANDOM = new SecureRandom();

  private Ids() {}

  /**
   * Returns a UUIDv7 whose 12 bits after the version are the first of the SHA-256 of the queue's
   * name. They tell a server with several shards which one holds the job.
   */
  static String make(String queue) {
    byte[] hash = sha256().digest(queue.getBytes(StandardCharsets.UTF_8));
    int queueBits = (hash[0] & 0xff) << 4 | (hash[1] & 0xff) >> 4;
    long high = System.currentTimeMillis() << 16 | 0x7000 | queueBits;
    long low = RANDOM.nextLong() >>> 2 | 1L << 63;
    return new UUID(high, low).toString();
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException absent) {
      throw new IllegalStateException(absent); // every Java has it
    }
  }
}
