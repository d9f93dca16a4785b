import static org.jobrunr.server.BackgroundJobServerConfiguration.usingStandardBackgroundJobServerConfiguration;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.jobrunr.configuration.JobRunr;
import org.jobrunr.scheduling.BackgroundJob;
import org.jobrunr.storage.sql.postgres.PostgresStorageProvider;

/**
 * JobRunr on PostgreSQL: enqueue of a stream, a server with 16 workers and the shortest poll
 * interval, 5 s.
 */
public final class Peer {
  private static final int CONCURRENCY = 16;

  public static void empty(String to) {
    Tally.ran();
  }

  public static void main(String[] args) {
    int jobs = Integer.parseInt(args[1]);
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + args[2] + "/bench?user=bench");
    config.setMaximumPoolSize(CONCURRENCY + 4);
    HikariDataSource source = new HikariDataSource(config);
    var jobRunr = JobRunr.configure().useStorageProvider(new PostgresStorageProvider(source));
    if (args[0].equals("enqueue")) {
      jobRunr.initialize();
      List<String> payloads = Collections.nCopies(jobs, "ada@example.org");
      BackgroundJob.<String>enqueue(payloads.stream(), to -> empty(to));
      System.out.println("ended {\"jobs\": " + jobs + "}");
      JobRunr.destroy();
      source.close();
    } else {
      Tally.expect(jobs);
      Runtime.getRuntime().addShutdownHook(new Thread(JobRunr::destroy));
      jobRunr
          .useBackgroundJobServer(
              usingStandardBackgroundJobServerConfiguration()
                  .andWorkerCount(CONCURRENCY)
                  .andPollInterval(Duration.ofSeconds(5)))
          .initialize();
    }
  }
}
