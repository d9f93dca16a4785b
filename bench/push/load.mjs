// A simple load generator: a number of connections, one request at a time on each, always with the same
// bytes. Prints the answers per second.
import { connect } from "node:net";

const [port, connections, seconds] = process.argv.slice(2).map(Number);
const head = [
  "POST /hook HTTP/1.1",
  `Host: 127.0.0.1:${port}`,
  "content-type: application/json",
  "ce-specversion: 1.0",
  "ce-id: 01a2162b-03e7-700d-bcca-d90bb530752f",
  "ce-source: /v1/queues/bench",
  "ce-type: work",
  "ce-time: 2026-03-01T09:30:00.000Z",
  "ce-millracequeue: bench",
  "ce-millraceattempt: 1",
  "millrace-job-id: 01a2162b-03e7-700d-bcca-d90bb530752f",
  "millrace-token: 1838764283609088",
  "millrace-attempt: 1",
  "millrace-timeout-ms: 30000",
  "webhook-id: 01a2162b-03e7-700d-bcca-d90bb530752f",
  "webhook-timestamp: 1795668247",
  "Accept: application/json",
  "Content-Length: 4",
];
const request = Buffer.from(head.join("\r\n") + "\r\n\r\nnull");
const end = Buffer.from("\r\n\r\n");
let answers = 0;
for (let i = 0; i < connections; ++i) {
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  socket.setNoDelay(true);
  socket.on("data", (data) => {
    if (data.indexOf(end) < 0) throw new Error("an answer in pieces");
    ++answers;
    socket.write(request);
  });
}
setTimeout(() => {
  answers = 0;
  const begun = process.hrtime.bigint();
  setTimeout(() => {
    console.log(Math.round(answers / (Number(process.hrtime.bigint() - begun) / 1e9)));
    process.exit(0);
  }, seconds * 1000);
}, 500);
