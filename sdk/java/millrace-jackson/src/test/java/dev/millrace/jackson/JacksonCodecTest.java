package dev.millrace.jackson;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.millrace.CodecException;
import dev.millrace.Job;
import dev.millrace.JobType;
import dev.millrace.MillraceClient;
import dev.millrace.TestServer;
import dev.millrace.Worker;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class JacksonCodecTest {
  /** Not a record, so the built-in codec would refuse it. */
  public static class Mail {
    @JsonProperty("to_address")
    public String to;
  }

  private final JacksonCodec codec = new JacksonCodec(new ObjectMapper());

  @Test
  void theMapperDecides() {
    Mail mail = codec.decode("{\"to_address\":\"ada\"}", Mail.class);
    assertEquals("ada", mail.to);
    assertEquals("{\"to_address\":\"ada\"}", codec.encode(mail));
    CodecException fault =
        assertThrows(
            CodecException.class, () -> codec.decode("[{\"to_address\":{}}]", Mail[].class));
    assertTrue(fault.getMessage().startsWith("[0].to_address: "), fault.getMessage());
    assertThrows(CodecException.class, () -> codec.encode(new Object()));
  }

  @Test
  void aJobTravelsByIt() {
    JobType<Mail, Mail> type = JobType.of("mail", Mail.class, Mail.class);
    try (TestServer server = new TestServer()) {
      MillraceClient client = MillraceClient.builder().url(server.url()).codec(codec).build();
      Mail mail = new Mail();
      mail.to = "ada";
      String id = client.submit(type, mail).id();
      Worker worker = client.worker(o -> {}).handle(type, (payload, ctx) -> payload);
      worker.start();
      Job ended = client.waitFor(id, Duration.ofSeconds(60));
      worker.stop();
      assertEquals("ada", type.resultOf(ended).to);
    }
  }
}
