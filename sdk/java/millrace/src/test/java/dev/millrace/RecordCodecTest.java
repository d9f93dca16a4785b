package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecordCodecTest {
  enum Color {
    RED,
    GREEN
  }

  record Tree(String name, List<Tree> children) {}

  record Box<T>(T content, int count) {}

  record Boxes(Box<Color> one, Map<String, Box<Integer>> many) {}

  record Everything(
      boolean flag,
      int number,
      long large,
      double real,
      BigInteger huge,
      BigDecimal exact,
      Color color,
      Instant at,
      UUID id,
      Optional<String> maybe,
      int[] numbers,
      Map<Color, Integer> byColor,
      Json raw) {}

  @Retention(RetentionPolicy.RUNTIME)
  @interface Nullable {}

  record Lenient(int number, Optional<String> maybe, @Nullable Color color, @Nullable Json raw) {}

  record Named(@JsonName("to-address") String to, int templateId) {}

  private static final RecordCodec CODEC = RecordCodec.standard();

  private static <T> T again(T value, Class<T> type) {
    return CODEC.decode(CODEC.encode(value), type);
  }

  @Test
  void recordsComeBack() {
    Tree tree = new Tree("root", List.of(new Tree("leaf", List.of()), new Tree("bare", null)));
    assertEquals(tree, again(tree, Tree.class));
    Boxes boxes = new Boxes(new Box<>(Color.GREEN, 2), Map.of("a", new Box<>(7, 1)));
    assertEquals(boxes, again(boxes, Boxes.class));
  }

  @Test
  void everyKindOfMemberComesBack() {
    Everything value =
        new Everything(
            true,
            -3,
            Long.MIN_VALUE,
            0.1,
            new BigInteger("123456789012345678901234567890"),
            new BigDecimal("1.10"),
            Color.RED,
            Instant.parse("2030-01-01T00:00:00.123456Z"),
            UUID.fromString("0195a1b2-c3d4-7e5f-8899-aabbccddee01"),
            Optional.of("here"),
            new int[] {1, 2},
            Map.of(Color.GREEN, 1),
            Json.of("{\"b\": 1.00}"));
    Everything read = again(value, Everything.class);
    assertTrue(Arrays.equals(value.numbers(), read.numbers()));
    assertEquals(CODEC.encode(value), CODEC.encode(read));
    assertEquals("{\"b\": 1.00}", read.raw().text());
  }

  @Test
  void aMissingMemberIsAnErrorUnlessItsComponentAllowsIt() {
    Lenient read = CODEC.decode("{\"unknown\": [{}], \"number\": 4}", Lenient.class);
    assertEquals(new Lenient(4, Optional.empty(), null, null), read);
    assertEquals("the member \"number\" is missing", faultOf("{}", Lenient.class));
    assertEquals(
        new Tree("a", null), CODEC.decode("{\"name\":\"a\",\"children\":null}", Tree.class));
    String noNumber = "{\"number\": null}";
    assertEquals("number: expected a number and found null", faultOf(noNumber, Lenient.class));
  }

  @Test
  void faultsNameTheMember() {
    String tree = "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[]},{\"name\":7}]}";
    assertEquals("children[1].name: expected a string and found 7", faultOf(tree, Tree.class));
    String boxes = "{\"one\":{\"content\":\"BLUE\",\"count\":1},\"many\":{}}";
    assertEquals("one.content: \"BLUE\" is no Color", faultOf(boxes, Boxes.class));
    String large = "{\"to-address\":\"ada\",\"templateId\":3000000000}";
    assertEquals("templateId: 3000000000 can't be read as int", faultOf(large, Named.class));
    String map = "{\"one\":null,\"many\":{\"a\":{\"content\":true,\"count\":1}}}";
    assertEquals("many.a.content: expected a number and found true", faultOf(map, Boxes.class));
  }

  private static String faultOf(String json, Class<?> type) {
    String fault = assertThrows(CodecException.class, () -> CODEC.decode(json, type)).getMessage();
    return fault.replaceAll(", at character \\d+ of the JSON$", "");
  }

  @Test
  void numbersOfAnObjectKeepTheirDigits() {
    Object read = CODEC.decode("[1, 12345678901234567890, 1.5, -0, 1e3]", Object.class);
    assertEquals(List.of(1L, new BigInteger("12345678901234567890"), 1.5, 0L, 1000.0), read);
  }

  @Test
  void stringsKeepEveryCharacter() {
    String text = "\"\\/\b\f\n\r\t\u0001 é € \ud83d\ude00";
    assertEquals(text, again(text, String.class));
    assertEquals("\"\\ud800\"", CODEC.encode("\ud800"));
    assertEquals("\ud83d\ude00", CODEC.decode("\"\\uD83D\\ude00\"", String.class));
  }

  @Test
  void membersMayHaveOtherNames() {
    Named named = new Named("ada", 7);
    assertEquals("{\"to-address\":\"ada\",\"templateId\":7}", CODEC.encode(named));
    RecordCodec snake = RecordCodec.snakeCase();
    assertEquals("{\"to-address\":\"ada\",\"template_id\":7}", snake.encode(named));
    assertEquals(named, snake.decode(snake.encode(named), Named.class));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[1,]",
        "{\"a\":}",
        "01",
        "1.",
        "+1",
        "nul",
        "\"a",
        "\"\t\"",
        "\"\\x\"",
        "[1] 2",
        "NaN"
      })
  void whatIsNoJsonIsRefused(String text) {
    assertThrows(CodecException.class, () -> CODEC.decode(text, Object.class));
    assertThrows(CodecException.class, () -> Json.of(text));
  }

  @Test
  void whatDoesNotFitIsRefused() {
    assertThrows(CodecException.class, () -> CODEC.decode("3000000000", Integer.class));
    assertThrows(CodecException.class, () -> CODEC.decode("\"BLUE\"", Color.class));
    assertThrows(CodecException.class, () -> CODEC.decode("[]", Tree.class));
    assertThrows(CodecException.class, () -> CODEC.encode(Double.NaN));
    assertThrows(CodecException.class, () -> CODEC.encode(new Object()));
    assertThrows(CodecException.class, () -> CODEC.decode("[".repeat(10_000), Object.class));
  }
}
