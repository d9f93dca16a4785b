// Texts that try to run as code when a page shows them: elements that run by themselves, escapes from an
// attribute, script URLs, and encoded forms of each. If one runs, it sets window.pwned.
const run = "window.pwned=1";

// The tests also refer to these by position, so keep their order.
const known = [
  "<script>window.pwned=1</script>",
  "<img src=x onerror=window.pwned=1>",
  '"><svg onload=window.pwned=1>',
  "'><iframe srcdoc='<script>parent.pwned=1</script>'>",
  "javascript:window.pwned=1",
  "<a href=javascript:window.pwned=1>x</a>",
  "{{constructor.constructor('window.pwned=1')()}}",
  "${window.pwned=1}",
  "</textarea><script>window.pwned=1</script>",
  "</title><script>window.pwned=1</script>",
  "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>",
  "<style>*{display:none}</style>",
  "<base href=//evil.example/>",
  "<form action=//evil.example><button>",
  "<body onload=window.pwned=1>",
  "<details open ontoggle=window.pwned=1>",
  "<video><source onerror=window.pwned=1>",
  "\u202Egnp.exe\u202C",
  "data:text/html,<script>window.pwned=1</script>",
  "&lt;script&gt;window.pwned=1&lt;/script&gt;",
  "<!--<img src=--><img src=x onerror=window.pwned=1>//-->",
  "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
  "<object data=javascript:window.pwned=1>",
  "<x onclick=window.pwned=1 tabindex=1 id=app>",
  "<meta http-equiv=refresh content='0;url=//evil.example'>",
];

const tags = [
  "img src=x",
  "svg",
  "video src=x",
  "audio src=x",
  "iframe",
  "body",
  "input autofocus",
  "select autofocus",
  "textarea autofocus",
  "details open",
  "marquee",
  "object data=x",
  "embed src=x",
  "style",
  "link rel=stylesheet href=x",
  "button autofocus",
  "x tabindex=1 autofocus",
  "dialog open",
  "form",
  "math",
  "p contenteditable autofocus",
];
const handlers = ["onerror", "onload", "onfocus", "ontoggle", "onanimationstart", "onpointerenter"];
const elements = tags.flatMap((tag) => handlers.map((handler) => `<${tag} ${handler}=${run}>`));

const ends = [
  '"',
  "'",
  "`",
  '">',
  "'>",
  "-->",
  "]]>",
  "</script>",
  "</style>",
  "</template>",
  "</noscript>",
  "</select>",
  "</option>",
  "</svg>",
  "</pre>",
  "</code>",
  '\\"',
  "\\u0022",
  "&quot;>",
  "%22%3E",
];
const outs = ends.flatMap((end) => [
  `${end} onmouseover=${run} x=`,
  `${end}<script>${run}</script>`,
  `${end}<img src=x onerror=${run}>`,
]);

const schemes = [
  "javascript:",
  "JaVaScRiPt:",
  "java\tscript:",
  "java\nscript:",
  " javascript:",
  "javascript&colon;",
  "\u0001javascript:",
  "data:text/html;base64,",
  "vbscript:",
  "javascript://%0a",
];
const carriers = [
  (to) => to,
  (to) => `<a href="${to}">x</a>`,
  (to) => `<iframe src="${to}">`,
  (to) => `<form action="${to}"><button autofocus>`,
  (to) => `[x](${to})`,
];
const addresses = schemes.flatMap((scheme) => carriers.map((carry) => carry(`${scheme}${run}`)));

const encoded = ["<script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>"].flatMap((text) => [
  encodeURIComponent(text),
  encodeURIComponent(encodeURIComponent(text)),
  [...text].map((c) => `&#${c.charCodeAt(0)};`).join(""),
  [...text].map((c) => `&#x${c.charCodeAt(0).toString(16)}`).join(""),
  [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  text.replaceAll("<", "\uFF1C").replaceAll(">", "\uFF1E"),
  text.replaceAll("<", "<\u200B"),
  text.replaceAll("<", "<\u0001"),
  text.replaceAll("<", "<<"),
  text.toUpperCase().replace("WINDOW.PWNED", "window.pwned"),
  `<svg><![CDATA[${text}]]></svg>`,
  `<noscript><p title="</noscript>${text}">`,
  `<template>${text}</template>`,
  `<xmp>${text}</xmp>`,
  `<plaintext>${text}`,
  `${"<div>".repeat(100)}${text}`,
  `{{${text}}}`,
  `<%= ${text} %>`,
  `\${"${text}"}`,
  `__proto__${text}`,
  `constructor${text}`,
  `%s%n${text}`,
]);

export const hostile = [...known, ...elements, ...outs, ...addresses, ...encoded];
