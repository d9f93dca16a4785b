package dev.millrace;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;

/**
 * Describes exceptions whose own methods may fail: their class is the application's, and an error
 * that throws when it is asked for its text must reach the server like any other.
 */
final class Described {
  private Described() {}

  /** Returns the message; the class's name if it has none. */
  static String message(Throwable error) {
    String type = error.getClass().getName();
    try {
      String message = error.getMessage();
      return message == null ? type : message;
    } catch (Throwable broken) {
      return unreadable("getMessage", broken);
    }
  }

  /** Returns the class and the message, as {@code toString} does. */
  static String text(Throwable error) {
    try {
      String text = error.toString();
      if (text != null) return text;
    } catch (Throwable broken) {
      return error.getClass().getName() + ": " + unreadable("toString", broken);
    }
    return error.getClass().getName();
  }

  /** Returns the stack trace with its causes; of an error that can't be printed, its frames. */
  static String stack(Throwable error) {
    StringWriter stack = new StringWriter();
    try {
      error.printStackTrace(new PrintWriter(stack));
    } catch (Throwable broken) {
      return frames(error);
    }
    return stack.toString();
  }

  /** Says whether loggers can print the error. */
  static boolean isPrintable(Throwable error) {
    try {
      if (error != null) error.printStackTrace(new PrintWriter(Writer.nullWriter()));
      return true;
    } catch (Throwable broken) {
      return false;
    }
  }

  private static String frames(Throwable error) {
    StringBuilder frames = new StringBuilder(error.getClass().getName());
    try {
      for (StackTraceElement frame : error.getStackTrace()) frames.append("\n\tat ").append(frame);
    } catch (Throwable broken) {
      // The class says something, too.
    }
    return frames.toString();
  }

  private static String unreadable(String method, Throwable broken) {
    return "the error can't be described: its " + method + " threw " + broken.getClass().getName();
  }
}
