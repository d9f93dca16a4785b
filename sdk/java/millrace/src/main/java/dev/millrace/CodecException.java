package dev.millrace;

/** Thrown if a value can't be written as JSON, or a JSON text can't be read as the wanted type. */
public class CodecException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * Creates an error without a cause.
   *
   * @param message the message for people
   */
  public CodecException(String message) {
    super(message);
  }

  /**
   * Creates an error with a cause.
   *
   * @param message the message for people
   * @param cause the error of the codec's underlying library
   */
  public CodecException(String message, Throwable cause) {
    super(message, cause);
  }
}
