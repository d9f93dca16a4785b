/** Writes and reads payloads and results with Jackson. */
package dev.millrace.jackson;
