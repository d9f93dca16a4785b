// Serves the dashboard while one works on it: built anew at each load, and everything else passed on
// to a server.
//
//   node dev.mjs [PORT [http://127.0.0.1:7600]]        the page of its parts is at /design
import http from "node:http";
import { bundle } from "./build.mjs";

const port = Number(process.argv[2] ?? 7700);
const server = new URL(process.argv[3] ?? "http://127.0.0.1:7600");
const types = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
  "trusted-types 'none'";

let built;
http
  .createServer(async (request, response) => {
    const path = request.url.split("?")[0];
    if (path === "/" || path === "/design" || path.startsWith("/assets/")) {
      try {
        if (!path.startsWith("/assets/")) built = await bundle(false);
      } catch (error) {
        response.writeHead(500).end(String(error));
        return;
      }
      const name = path === "/" ? "index.html" : path.slice(1);
      let content = built.files.get(name);
      if (path === "/design") content = built.design;
      if (path === `/assets/${built.names["design.js"]}`) content = built.designScript;
      const end = path.startsWith("/assets/") ? name.split(".").pop() : "html";
      response
        .writeHead(content ? 200 : 404, {
          "content-type": `${types[end]}; charset=utf-8`,
          "content-security-policy": policy,
        })
        .end(content);
      return;
    }
    const headers = { ...request.headers, host: server.host };
    if (headers.origin) headers.origin = server.origin;
    const passed = http.request(server, { path: request.url, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  })
  .listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
