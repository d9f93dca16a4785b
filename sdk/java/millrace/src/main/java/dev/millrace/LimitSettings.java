package dev.millrace;

import java.util.Map;

/** Settings to give a limit. The call decides about settings that are not set. Immutable. */
public final class LimitSettings extends LimitSettingsMembers {
  private LimitSettings(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns empty settings.
   *
   * @return the settings
   */
  public static LimitSettings create() {
    return new LimitSettings(Map.of());
  }

  @Override
  LimitSettings copy(Map<String, Object> named) {
    return new LimitSettings(named);
  }
}
