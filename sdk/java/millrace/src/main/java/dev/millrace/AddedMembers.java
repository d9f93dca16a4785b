// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The numbers of members after an addition.
 *
 * @param added how many members were added
 * @param existing how many were there already
 * @param members how many the workflow has now
 */
public record AddedMembers(long added, long existing, long members) {}
