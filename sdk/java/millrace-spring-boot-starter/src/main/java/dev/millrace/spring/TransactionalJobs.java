package dev.millrace.spring;

import dev.millrace.JobType;
import dev.millrace.Jobs;
import dev.millrace.NewJob;
import javax.sql.DataSource;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Submits jobs in Spring's transactions: the job is there if and only if the transaction commits.
 * Millrace must keep its jobs in the data source's PostgreSQL database.
 *
 * <pre>{@code
 * @Transactional
 * public void order(Order order) {
 *   orders.save(order);
 *   jobs.submit(CHARGE, new Charge(order.id()));
 * }
 * }</pre>
 */
public final class TransactionalJobs {
  private final Jobs jobs;
  private final JdbcTemplate database;

  /**
   * Creates it; the starter provides a bean.
   *
   * @param jobs the client
   * @param database the database in which Millrace keeps its jobs
   */
  public TransactionalJobs(Jobs jobs, DataSource database) {
    this.jobs = jobs;
    this.database = new JdbcTemplate(database);
  }

  /**
   * Submits a job in the current transaction.
   *
   * @param job the job
   * @return its id
   * @throws IllegalStateException if there is no transaction
   * @throws org.springframework.dao.DataAccessException if the database refuses it
   */
  public String submit(NewJob job) {
    if (!TransactionSynchronizationManager.isActualTransactionActive()) {
      throw new IllegalStateException(
          "there is no transaction: make the method @Transactional, or submit with MillraceClient");
    }
    return database.execute(
        (ConnectionCallback<String>) connection -> jobs.submitTx(connection, job));
  }

  /**
   * Submits a job of a type in the current transaction.
   *
   * @param <P> the payload
   * @param type the type
   * @param payload the payload
   * @return the job's id
   * @throws IllegalStateException if there is no transaction
   */
  public <P> String submit(JobType<P, ?> type, P payload) {
    return submit(type.job(payload));
  }
}
