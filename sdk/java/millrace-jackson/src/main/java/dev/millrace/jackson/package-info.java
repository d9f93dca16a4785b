/** Payloads and results by Jackson. */
package dev.millrace.jackson;
