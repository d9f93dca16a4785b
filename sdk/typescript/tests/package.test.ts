// The package as it is published: packed, installed into an empty project, and used from there.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { VERSION } from "@millrace/sdk";

import { database, freePort, Server } from "./support.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const url = await database();
const server = await Server.running(url);
const project = mkdtempSync(join(tmpdir(), "millrace-ts-project-"));
const env = {
  ...process.env,
  MILLRACE_URL: server.url,
  DATABASE_URL: url,
  WEB_PORT: String(await freePort()),
  npm_config_update_notifier: "false",
};
// The tests run with their own context, which would change the output of `node --test`.
delete (env as Record<string, unknown>).NODE_TEST_CONTEXT;

after(() => rmSync(project, { recursive: true, force: true }));

async function sh(program: string, timeout = 300_000): Promise<string> {
  const { stdout } = await run("bash", ["-ec", program], { cwd: project, env, timeout });
  return stdout;
}

interface Block {
  language: string;
  words: string[];
  text: string;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)(.*)\n([^]*?)^```$/gm)].map(([, language, words, text]) => ({
    language: language as string,
    words: (words as string).trim().split(/\s+/),
    text: text as string,
  }));
}

before(async () => {
  const { stdout } = await run(
    "npm",
    ["pack", "--ignore-scripts", "--json", "--pack-destination", project],
    {
      cwd: ROOT,
    },
  );
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  writeFileSync(join(project, "package.json"), '{ "private": true }\n');
  const settings = "--offline --no-audit --no-fund --silent";
  await sh(`npm install ${settings} ./${filename}`);
  // The frameworks that the README uses, of the same registry.
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    const target = join(project, "node_modules", name);
    if (!name.startsWith(".") && !existsSync(target)) {
      symlinkSync(join(ROOT, "node_modules", name), target);
    }
  }
});

test("the version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  assert.equal(VERSION, version);
});

test("the package has the code, its types and sources, and nothing else", () => {
  const installed = join(project, "node_modules/@millrace/sdk");
  assert.deepEqual(readdirSync(installed).sort(), [
    "LICENSE",
    "README.md",
    "dist",
    "package.json",
    "src",
  ]);
  assert.ok(readdirSync(join(installed, "dist")).includes("index.d.ts"));
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
});

describe("the README", () => {
  const blocks = blocksOf(readFileSync(join(ROOT, "README.md"), "utf8"));

  test("works as printed", async () => {
    let printed = "";
    let commands = 0;
    for (const { words, text } of blocks) {
      const file = words.find((word) => word.startsWith("file="))?.slice(5);
      if (file) writeFileSync(join(project, file), text);
      if (words.includes("run")) {
        printed = await sh(`set -m; ${text}`);
        commands++;
      }
      if (words.includes("output")) assert.equal(printed, text);
      if (text.startsWith("node --test")) assert.match(printed, /# pass 1/);
    }
    assert.equal(commands, 7);
  });

  test("its typed programs compile strictly, and work", async () => {
    const options =
      "--strict --target es2022 --types node --skipLibCheck false --experimentalDecorators";
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    for (const name of ["typed", "checked", "nest"]) {
      writeFileSync(join(project, `${name}.mts`), readFileSync(join(project, `${name}.ts`)));
    }
    const wrong = `import { Millrace, WorkflowBuilder } from "@millrace/sdk";
      const job = new Millrace().job<{ n: number }, string>("t");
      // @ts-expect-error The payload has another type.
      void job.submit({ n: "1" });
      // @ts-expect-error The result has another type.
      new Millrace().worker().on(job, () => 1);
      // @ts-expect-error There is no such option.
      void job.submit({ n: 1 }, { prioritty: 1 });
      const flow = new WorkflowBuilder("f");
      // @ts-expect-error A need has no such end.
      flow.add("a", job.make({ n: 1 }), { needs: [{ ref: "b", on: "dead" }] });
      // @ts-expect-error The result of the parent has another type.
      new Millrace().worker().on(job, (_, ctx) => ctx.parent<number>("a"));`;
    writeFileSync(join(project, "wrong.mts"), wrong);
    const browser = `import { Millrace } from "@millrace/sdk/client";
      // @ts-expect-error Browsers have no workers.
      new Millrace().worker();`;
    writeFileSync(join(project, "browser.mts"), browser);
    const files = "typed.mts checked.mts nest.mts wrong.mts browser.mts";
    await sh(`${tsc} ${options} --module nodenext --outDir compiled ${files}`);
    assert.equal(await sh("node compiled/typed.mjs"), "640\n");
    assert.equal(await sh("node compiled/checked.mjs"), "true\n/payload/to\n");
    assert.equal(await sh("node compiled/nest.mjs"), "Welcome, Ada\n");
    await sh(`${tsc} ${options} --module preserve --moduleResolution bundler --noEmit ${files}`);
  });
});

test("the example sends each e-mail once, however often it runs", async () => {
  const source = readFileSync(join(ROOT, "examples/emails.ts"), "utf8");
  assert.ok(source.trimEnd().split("\n").length <= 30, "30 lines");
  writeFileSync(join(project, "emails.mjs"), readFileSync(join(ROOT, "out/examples/emails.js")));
  for (let i = 0; i < 2; i++) assert.equal(await sh("node emails.mjs"), "1980 sent, 20 dead\n");
});

test("require and import give the same classes", async () => {
  const program = `const required = require("@millrace/sdk");
    const client = require("@millrace/sdk/client");
    import("@millrace/sdk").then((imported) => {
      const names = Object.keys(required).filter((name) => imported[name] !== required[name]);
      console.log(names, imported.NotFound === client.NotFound, typeof imported.Fake);
    });`;
  writeFileSync(join(project, "required.cjs"), program);
  assert.equal(await sh("node required.cjs"), "[] true function\n");
});

test("what browsers load needs nothing of Node.js", () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from] of readFileSync(file, "utf8").matchAll(/(?:from|import) "([^"]+)"/g)) {
      assert.match(from as string, /^\.\.?\//, file);
      visit(join(dirname(file), from as string));
    }
  };
  visit(join(ROOT, "dist/browser/browser.js"));
  assert.ok(seen.size > 10);
  assert.ok(![...seen].some((file) => file.includes("/node/")));
});
