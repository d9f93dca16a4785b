package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A request with members of a workflow, which are added one by one. Its methods change it; not
 * thread-safe.
 */
abstract class Graph<T extends Graph<T>> {
  private final Map<String, Object> named; // the other members of the request, as in the API
  private final List<NewMember> members = new ArrayList<>();
  private final Set<String> refs = new HashSet<>();

  Graph(Map<String, Object> named) {
    this.named = new LinkedHashMap<>(named);
  }

  /**
   * Adds a member.
   *
   * <pre>{@code
   * NewMember load = flow.add("load", LOAD.job(day));
   * flow.add("publish", PUBLISH.job(day)).needs(load);
   * }</pre>
   *
   * @param ref a name by which other members and calls name this one, 1 to 128 characters of {@code
   *     A-Za-z0-9._:/-}
   * @param job its job, without an id, a key and an expiry at a fixed time
   * @return the member, which others can need, and which can need others
   * @throws IllegalArgumentException if another member has the ref, or the job is none of a member
   */
  public NewMember add(String ref, NewJob job) {
    if (!refs.add(Objects.requireNonNull(ref, "ref")))
      throw new IllegalArgumentException("two members with the ref " + ref);
    return add(new NewMember(ref, job));
  }

  /**
   * Adds a member without a ref. No other member can need it.
   *
   * @param job its job, as for {@link #add(String, NewJob)}
   * @return the member, which can need others
   * @throws IllegalArgumentException if the job is none of a member
   */
  public NewMember add(NewJob job) {
    return add(new NewMember(null, job));
  }

  private NewMember add(NewMember member) {
    members.add(member);
    return member;
  }

  Map<String, Object> named() {
    return named;
  }

  List<NewMember> members() {
    return Collections.unmodifiableList(members);
  }

  @SuppressWarnings("unchecked")
  <V> V get(String name) {
    return (V) named.get(name);
  }

  @SuppressWarnings("unchecked")
  T with(String name, Object value) {
    named.put(name, value);
    return (T) this;
  }

  String write(ApiCodec codec, Map<String, Object> more, List<NewMember> part) {
    return write(codec, more, part, null);
  }

  /**
   * Writes the request with some of its members, always in the same order: the server compares
   * repeated requests byte by byte.
   *
   * @param more other members of the request, which replace those of the same name
   * @param defaults what their jobs do not set, if the request can't say so; may be null
   */
  String write(ApiCodec codec, Map<String, Object> more, List<NewMember> part, NewJob defaults) {
    Map<String, Object> all = new LinkedHashMap<>(more);
    named.forEach(all::putIfAbsent);
    all.remove("idempotency_key"); // a header
    JsonWriter out = new JsonWriter().begin('{');
    all.forEach(
        (name, value) -> {
          out.name(name);
          if (value instanceof NewJob job) {
            codec.writeMembers(job.named(), out);
          } else {
            codec.write(value, out);
          }
        });
    out.name("members").begin('[');
    for (NewMember member : part) member.write(codec, defaults, out);
    return out.end(']').end('}').toString();
  }
}
