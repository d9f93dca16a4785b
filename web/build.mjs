// Makes web/dist of the sources: the files that the server carries, with a hash of their content in
// their names, each also compressed. What was there before is removed.
//
//   node build.mjs            writes dist
//   node build.mjs --check    says whether dist is what the sources give; writes nothing
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
// All scripts together, as gzip leaves them.
const kMaxScriptBytes = 100 * 1024;

export async function bundle(minify = true) {
  const made = await esbuild.build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx", theme: "src/theme.ts", design: "src/design.tsx", style: "src/style/all.css" },
    bundle: true,
    minify,
    format: "esm",
    target: ["es2022", "chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    write: false,
    outdir: "out",
    logLevel: "warning",
  });
  const files = new Map();
  const names = {};
  for (const file of made.outputFiles) {
    const base = file.path.split("/").pop();
    const dot = base.lastIndexOf(".");
    const stem = base.slice(0, dot);
    const end = base.slice(dot);
    const hash = createHash("sha256").update(file.contents).digest("hex").slice(0, 10);
    names[base] = `${stem}-${hash}${end}`;
    files.set(`assets/${names[base]}`, Buffer.from(file.contents));
  }
  const icon = readFileSync(join(here, "src/icon.svg"));
  names["icon.svg"] = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 10)}.svg`;
  files.set(`assets/${names["icon.svg"]}`, icon);
  const page = (script, title) =>
    readFileSync(join(here, "src/index.html"), "utf8")
      .replaceAll("{{title}}", title)
      .replaceAll(/\{\{([a-z.]+)\}\}/g, (_, name) => {
        const real = name === "script" ? names[script] : names[name];
        if (!real) throw new Error(`index.html names ${name}, which the build did not make`);
        return `assets/${real}`;
      });
  files.set("index.html", Buffer.from(page("app.js", "Millrace")));
  // For those who work on it alone: it is not in dist.
  const design = page("design.js", "Millrace: design").replaceAll("assets/", "assets/");
  files.delete(`assets/${names["design.js"]}`);
  return { files, names, design, designScript: made.outputFiles.find((f) => f.path.endsWith("/design.js")).contents };
}

function compressed(content) {
  return {
    ".gz": gzipSync(content, { level: 9 }),
    ".br": brotliCompressSync(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
  };
}

function listed(folder, under = "") {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? listed(join(folder, entry.name), `${under}${entry.name}/`) : [`${under}${entry.name}`],
  );
}

function faults(files) {
  const found = new Set(listed(dist));
  const wrong = [];
  for (const [name, content] of files) {
    for (const [end, read] of [
      ["", (b) => b],
      [".gz", gunzipSync],
      [".br", brotliDecompressSync],
    ]) {
      const place = name + end;
      if (!found.delete(place)) wrong.push(`${place} is missing`);
      // How a library compresses may change with its version; what comes out may not.
      else if (!read(readFileSync(join(dist, place))).equals(content)) wrong.push(`${place} differs`);
    }
  }
  for (const name of found) wrong.push(`${name} is left over`);
  return wrong;
}

async function main() {
  const { files } = await bundle();
  let scripts = 0;
  for (const [name, content] of files) {
    if (name.endsWith(".js")) scripts += gzipSync(content, { level: 9 }).length;
  }
  if (scripts > kMaxScriptBytes) {
    console.error(`the scripts take ${scripts} bytes compressed; at most ${kMaxScriptBytes} are allowed`);
    process.exitCode = 1;
    return;
  }
  if (process.argv.includes("--check")) {
    const wrong = faults(files);
    for (const fault of wrong) console.error(`web/dist: ${fault}`);
    if (wrong.length > 0) {
      console.error("run web/build and commit what it writes");
      process.exitCode = 1;
    }
    return;
  }
  rmSync(dist, { recursive: true, force: true });
  for (const [name, content] of files) {
    const place = join(dist, name);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    for (const [end, bytes] of Object.entries(compressed(content))) writeFileSync(place + end, bytes);
  }
  const style = [...files].find(([name]) => name.endsWith(".css"));
  console.log(
    `web/dist: ${files.size} files; scripts ${(scripts / 1024).toFixed(1)} KiB and style ` +
      `${(gzipSync(style[1], { level: 9 }).length / 1024).toFixed(1)} KiB compressed`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
