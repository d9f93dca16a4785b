package dev.millrace;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Sets the JSON name of a record's component, for {@link RecordCodec}. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface JsonName {
  /**
   * Returns the member's name.
   *
   * @return the name
   */
  String value();
}
