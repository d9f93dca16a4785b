package dev.millrace;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The name in JSON of a record's component, for {@link RecordCodec}. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface JsonName {
  /**
   * The member's name.
   *
   * @return the name
   */
  String value();
}
