package dev.millrace.spring;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import dev.millrace.JobContext;
import dev.millrace.LogLevel;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;

/** Copies lines that handlers' threads log to their jobs' logs. */
final class LogbackJobLogs extends AppenderBase<ILoggingEvent>
    implements InitializingBean, DisposableBean {

  @Override
  public void afterPropertiesSet() {
    if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)) return;
    setContext(context);
    setName("millrace");
    start();
    context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(this);
  }

  @Override
  public void destroy() {
    if (getContext() instanceof LoggerContext context) {
      context.getLogger(Logger.ROOT_LOGGER_NAME).detachAppender(this);
    }
    stop();
  }

  @Override
  protected void append(ILoggingEvent event) {
    JobContext current = JobContext.current();
    if (current == null) return;
    String message = event.getFormattedMessage();
    if (event.getThrowableProxy() != null) {
      message += "\n" + ThrowableProxyUtil.asString(event.getThrowableProxy());
    }
    current.log(level(event.getLevel()), message);
  }

  private static LogLevel level(Level level) {
    if (level.isGreaterOrEqual(Level.ERROR)) return LogLevel.ERROR;
    if (level.isGreaterOrEqual(Level.WARN)) return LogLevel.WARN;
    return level.isGreaterOrEqual(Level.INFO) ? LogLevel.INFO : LogLevel.DEBUG;
  }
}
