package dev.millrace.spring;

import dev.millrace.Handlers;
import dev.millrace.JobContext;
import dev.millrace.JobType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.Map;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/** Finds and calls the methods with {@link JobHandler}. */
final class HandlerMethods {
  private HandlerMethods() {}

  static void attach(ConfigurableListableBeanFactory beans, Handlers handlers) {
    for (String name : beans.getBeanDefinitionNames()) {
      Class<?> type = beans.getType(name, false);
      if (type == null) continue;
      Map<Method, JobHandler> methods =
          MethodIntrospector.selectMethods(
              ClassUtils.getUserClass(type),
              (MethodIntrospector.MetadataLookup<JobHandler>)
                  method -> AnnotatedElementUtils.findMergedAnnotation(method, JobHandler.class));
      methods.forEach((method, handler) -> attach(beans, name, method, handler, handlers));
    }
  }

  private static void attach(
      ConfigurableListableBeanFactory beans,
      String name,
      Method method,
      JobHandler handler,
      Handlers handlers) {
    Type payload = payloadOf(name, method);
    JobType<Object, Object> type = JobType.ofTypes(handler.value(), payload, Object.class);
    // The bean is looked up at the first job, as it may need the client, whose handlers are still
    // being created.
    handlers.handle(
        type,
        (value, context) -> {
          Object bean = beans.getBean(name);
          return call(
              bean, AopUtils.selectInvocableMethod(method, bean.getClass()), value, context);
        });
  }

  private static Type payloadOf(String name, Method method) {
    Type payload = null;
    for (Type parameter : method.getGenericParameterTypes()) {
      if (parameter == JobContext.class) continue;
      if (payload != null) {
        String message = "a handler takes a payload and a JobContext, not " + method;
        throw new BeanCreationException(name, message);
      }
      payload = parameter;
    }
    return payload == null ? Object.class : payload;
  }

  private static Object call(Object bean, Method method, Object payload, JobContext context)
      throws Exception {
    Class<?>[] types = method.getParameterTypes();
    Object[] arguments = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      arguments[i] = types[i] == JobContext.class ? context : payload;
    }
    try {
      method.setAccessible(true);
      return method.invoke(bean, arguments);
    } catch (InvocationTargetException thrown) {
      if (thrown.getCause() instanceof Exception own) throw own;
      if (thrown.getCause() instanceof Error error) throw error;
      throw thrown;
    }
  }
}
