package dev.millrace.spring;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.millrace.ClientBuilder;
import dev.millrace.Codec;
import dev.millrace.Handlers;
import dev.millrace.Middleware;
import dev.millrace.MillraceClient;
import dev.millrace.RecordCodec;
import dev.millrace.jackson.JacksonCodec;
import io.micrometer.core.instrument.MeterRegistry;
import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Provides a {@link MillraceClient}, and a worker that starts and stops with the application and
 * runs its {@link JobHandler} methods. The application can replace each bean by its own of the same
 * type.
 */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration",
      "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
      "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
    })
@EnableConfigurationProperties(MillraceProperties.class)
public class MillraceAutoConfiguration {
  /** Called by Spring. */
  public MillraceAutoConfiguration() {}

  /**
   * Provides the codec: one of the application's {@code ObjectMapper}, or else that of records.
   *
   * @param mapper the application's mapper
   * @return the codec
   */
  @Bean
  @ConditionalOnMissingBean
  public Codec millraceCodec(ObjectProvider<ObjectMapper> mapper) {
    ObjectMapper own = mapper.getIfAvailable();
    return own == null ? RecordCodec.standard() : new JacksonCodec(own);
  }

  /**
   * Provides the client.
   *
   * @param properties the settings
   * @param codec the codec
   * @return the client
   */
  @Bean
  @ConditionalOnMissingBean
  public MillraceClient millraceClient(MillraceProperties properties, Codec codec) {
    ClientBuilder builder = MillraceClient.builder().timeout(properties.timeout()).codec(codec);
    if (properties.url() != null) builder.url(properties.url());
    if (properties.token() != null) builder.token(properties.token());
    return builder.build();
  }

  /**
   * Provides the handlers: the application's {@link JobHandler} methods, wrapped in its middleware.
   *
   * @param beans the beans that have the methods
   * @param middleware the application's middleware, in its order
   * @return the handlers, which tests can also give to a {@link dev.millrace.Fake}
   */
  @Bean
  @ConditionalOnMissingBean
  public Handlers millraceHandlers(
      ConfigurableListableBeanFactory beans, ObjectProvider<Middleware> middleware) {
    Handlers handlers = new Handlers();
    middleware.orderedStream().forEach(handlers::middleware);
    HandlerMethods.attach(beans, handlers);
    return handlers;
  }

  /**
   * Provides the worker.
   *
   * @param client the client
   * @param handlers the handlers
   * @param properties the settings
   * @param customizers set further options, in their order
   * @return the bean that starts and stops the worker
   */
  @Bean
  @ConditionalOnMissingBean
  @ConditionalOnProperty(name = "millrace.worker.enabled", matchIfMissing = true)
  public WorkerLifecycle millraceWorker(
      MillraceClient client,
      Handlers handlers,
      MillraceProperties properties,
      ObjectProvider<WorkerCustomizer> customizers) {
    return new WorkerLifecycle(
        client, handlers, properties.worker(), customizers.orderedStream().toList());
  }

  /** Applies if the application logs with Logback. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "ch.qos.logback.classic.LoggerContext")
  static class Logback {
    @Bean
    LogbackJobLogs millraceLogs() {
      return new LogbackJobLogs();
    }
  }

  /** Applies if the application has a database. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.jdbc.core.JdbcTemplate")
  static class Database {
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(DataSource.class)
    TransactionalJobs millraceTransactionalJobs(MillraceClient client, DataSource database) {
      return new TransactionalJobs(client, database);
    }
  }

  /** Applies if the application has Spring's actuator. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(
      name = {
        "org.springframework.boot.actuate.health.HealthIndicator",
        "org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator"
      })
  static class Actuator {
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnEnabledHealthIndicator("millrace")
    MillraceHealthIndicator millraceHealthIndicator(
        MillraceClient client, ObjectProvider<WorkerLifecycle> lifecycle) {
      return new MillraceHealthIndicator(client, lifecycle.getIfAvailable());
    }
  }

  /** Applies if the application measures with Micrometer. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "io.micrometer.core.instrument.MeterRegistry")
  static class Metrics {
    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    @ConditionalOnBean(MeterRegistry.class)
    HandlerMetrics millraceMetrics(
        MeterRegistry registry, ObjectProvider<WorkerLifecycle> lifecycle) {
      return new HandlerMetrics(registry, lifecycle);
    }
  }
}
