package dev.millrace;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/** Writes the path and query of a request. */
final class Target {
  private Target() {}

  /** Returns a path of alternating constant parts and names; the names are percent-encoded. */
  static String path(String constant, String name, String... more) {
    StringBuilder path = new StringBuilder(constant).append(encode(name));
    for (String part : more) path.append(part);
    return path.toString();
  }

  static String query(String path, Map<String, ?> parameters) {
    StringBuilder target = new StringBuilder(path);
    char separator = '?';
    for (Map.Entry<String, ?> parameter : new TreeMap<>(parameters).entrySet()) {
      target.append(separator).append(parameter.getKey()).append('=');
      target.append(encode(parameter.getValue().toString()));
      separator = '&';
    }
    return target.toString();
  }

  private static String encode(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
