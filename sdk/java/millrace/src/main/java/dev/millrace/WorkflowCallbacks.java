// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The ids of the callbacks' jobs; null until they are submitted.
 *
 * @param onSuccess the job of {&#64;code onSuccess}
 * @param onFailure the job of {&#64;code onFailure}
 * @param onEnd the job of {&#64;code onEnd}
 */
public record WorkflowCallbacks(String onSuccess, String onFailure, String onEnd) {}
