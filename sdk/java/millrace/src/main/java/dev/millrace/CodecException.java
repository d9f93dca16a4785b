package dev.millrace;

/** A value has no form in JSON, or a JSON text has no form in the wanted type. */
public class CodecException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * An error without a cause.
   *
   * @param message what is wrong, for people
   */
  public CodecException(String message) {
    super(message);
  }

  /**
   * An error with its cause.
   *
   * @param message what is wrong, for people
   * @param cause the error of the library that a codec stands on
   */
  public CodecException(String message, Throwable cause) {
    super(message, cause);
  }
}
