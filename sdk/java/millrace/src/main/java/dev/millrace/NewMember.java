package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * A member that was added to a workflow. Its methods change it; not thread-safe.
 *
 * <pre>{@code
 * NewMember card = flow.add("card", CHARGE.job(order));
 * NewMember invoice = flow.add("invoice", INVOICE.job(order)).needs(card.failed());
 * flow.add("ship", SHIP.job(order)).needs(card, invoice).needsAny();
 * }</pre>
 */
public final class NewMember {
  private static final List<String> REFUSED =
      List.of("id", "unique", "expires_at", "idempotency_key");

  private final String ref;
  private final NewJob job;
  private final List<Need> needs = new ArrayList<>();
  private boolean needsAny;

  NewMember(String ref, NewJob job) {
    for (String name : REFUSED) {
      if (job.get(name) == null) continue;
      throw new IllegalArgumentException("the job of a member takes no " + name);
    }
    this.ref = ref;
    this.job = job;
  }

  /**
   * Returns the member's ref.
   *
   * @return the ref; null if it has none
   */
  public String ref() {
    return ref;
  }

  /**
   * Lets it wait until these members, too, have succeeded.
   *
   * @param members members that were added before
   * @return this
   * @throws IllegalArgumentException if one of them has no ref
   */
  public NewMember needs(NewMember... members) {
    for (NewMember member : members) needs.add(member.need(Need.On.SUCCEEDED));
    return this;
  }

  /**
   * Lets it wait until the members with these refs, too, have succeeded.
   *
   * @param refs the refs
   * @return this
   */
  public NewMember needs(String... refs) {
    for (String each : refs) needs.add(Need.of(each));
    return this;
  }

  /**
   * Lets it wait for these ends of members, too.
   *
   * @param ends the ends, such as {@code card.failed()}
   * @return this
   */
  public NewMember needs(Need... ends) {
    needs.addAll(List.of(ends));
    return this;
  }

  /**
   * Releases it when the first of its needs is met, instead of all.
   *
   * @return this
   */
  public NewMember needsAny() {
    needsAny = true;
    return this;
  }

  /**
   * Returns the need that this member fails.
   *
   * @return the need, of another member
   * @throws IllegalArgumentException if it has no ref
   */
  public Need failed() {
    return need(Need.On.FAILED);
  }

  /**
   * Returns the need that this member ends in any way: it succeeds, fails or is skipped.
   *
   * @return the need, of another member
   * @throws IllegalArgumentException if it has no ref
   */
  public Need ended() {
    return need(Need.On.ENDED);
  }

  private Need need(Need.On on) {
    if (ref != null) return new Need(ref, on);
    throw new IllegalArgumentException(
        "a member that others need must have a ref; add it with one");
  }

  NewJob job() {
    return job;
  }

  List<Need> needs() {
    return needs;
  }

  boolean isAny() {
    return needsAny;
  }

  void write(ApiCodec codec, NewJob defaults, JsonWriter out) {
    out.begin('{');
    if (ref != null) out.name("ref").string(ref);
    if (!needs.isEmpty()) codec.write(needs, out.name("needs"));
    if (needsAny) out.name("needs_any").raw("true");
    codec.writeMembers(job.over(defaults).named(), out.name("job"));
    out.end('}');
  }
}
