package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SlowDownTest {
  @Test
  void whatAHandlerAsksOfLimitsGoesWithAnyOutcome() {
    Instant now = Instant.now();
    ClaimedJob job =
        new ClaimedJob(
            "id", "q", "t", Json.NULL, 1, 5, 0, now, List.of(), Map.of(), null, null, null, null,
            Map.of(), null);
    Execution execution = new Execution(job, 7, ApiCodec.STANDARD, null, null);
    assertThrows(
        IllegalArgumentException.class, () -> execution.slowDown("api", Duration.ofMillis(99)));
    execution.slowDown("api", Duration.ofMinutes(1));
    execution.slowDown("acct", "k", Duration.ofMillis(100));
    execution.slowDown("api", Duration.ofHours(1));
    String sent = Ack.write(execution, new Outcome.Released(), ApiCodec.STANDARD);
    String wishes =
        "\"slow_down\":[{\"limit\":\"api\",\"for_ms\":3600000},"
            + "{\"limit\":\"acct\",\"key\":\"k\",\"for_ms\":100}]";
    assertEquals(wishes, sent.substring(sent.indexOf("\"slow_down\"")).replaceAll("}$", ""));
  }
}
