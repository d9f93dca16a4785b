// Compiles the package. Node.js gets CommonJS, for `import` and for `require`, so that both see the
// same classes and the same running handler; browsers get ES modules.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
for (const [folder, type] of [
  ["dist", "commonjs"],
  ["dist/browser", "module"],
]) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, `{ "type": "${type}" }\n`);
}
for (const project of ["tsconfig.json", "tsconfig.browser.json"]) {
  const { status } = spawnSync("npx", ["--no-install", "tsc", "-p", project], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
