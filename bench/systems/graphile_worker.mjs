// graphile-worker: the operations of bench/agent.py and an adapter in one, in node.
import { createRequire } from "node:module";
import fs from "node:fs";

const require = createRequire(`${process.env.BENCH_HOME}/`);
const { run, makeWorkerUtils, Logger } = require("graphile-worker");

const connectionString = process.env.BENCH_DSN;
const logger = new Logger(() => () => {});
// The clock of Python's time.monotonic(): the wall clock of a process of node parts from that of others.
const seconds = () => Number(process.hrtime.bigint()) / 1e9;
const pause = (length) => new Promise((resolve) => setTimeout(resolve, Math.max(0, length * 1000)));

const facts = {
  bulk: true,
  kinds: ["noop", "effect", "sleep"],
  tables: ["graphile_worker._private_jobs"],
  unfinished: "SELECT count(*) FROM graphile_worker._private_jobs",
  clone: {
    table: "graphile_worker._private_jobs",
    newest: "id",
    skip: ["id"],
    later: { run_at: "now() + interval '1 day'" },
  },
  setting:
    "node, concurrentJobs 24, a local queue of 500, completions in batches without delay;" +
    " a body's effect is a commit of its own",
};

let log;
function note(number) {
  log ??= fs.openSync(process.env.BENCH_STARTS, "a");
  const record = Buffer.alloc(20);
  record.writeDoubleLE(seconds(), 0);
  record.writeBigInt64LE(BigInt(number), 8);
  record.writeInt32LE(process.pid, 16);
  fs.writeSync(log, record);
}

const taskList = {
  noop: async ({ number }) => note(number),
  effect: async ({ number }, helpers) => {
    note(number);
    await helpers.query("INSERT INTO effect (number) VALUES ($1)", [number]);
  },
  sleep: async ({ number }) => {
    note(number);
    await pause(5);
  },
};

async function timed(work) {
  const began = seconds();
  const busy = process.cpuUsage();
  const answer = (await work()) ?? {};
  const { user, system } = process.cpuUsage(busy);
  return { ...answer, seconds: seconds() - began, cpu: (user + system) / 1e6 };
}

async function oneByOne(client, kind, numbers, every) {
  const sent = [];
  const began = seconds();
  for (const [place, number] of numbers.entries()) {
    if (every) await pause(began + place * every - seconds());
    await client.addJob(kind, { number });
    sent.push(seconds());
  }
  return sent;
}

const range = (first, count) => Array.from({ length: count }, (_, place) => first + place);
const warmUp = (client, warm) => oneByOne(client, "noop", Array(warm ?? 0).fill(0), 0);

const operations = {
  setup: async (client) => {
    await client.migrate();
    return facts;
  },
  enqueue: async (client, { kind, first, count, every, warm }) => {
    await warmUp(client, warm);
    return timed(async () => ({ sent: await oneByOne(client, kind, range(first, count), every) }));
  },
  load: async (client, { kind, first, count, warm }) => {
    await warmUp(client, warm);
    const specify = (number) => ({ identifier: kind, payload: { number } });
    return timed(async () => void (await client.addJobs(range(first, count).map(specify))));
  },
};

async function work({ concurrency }) {
  const concurrentJobs = concurrency ?? 24;
  const worker = {
    connectionString,
    concurrentJobs,
    maxPoolSize: concurrentJobs + 1,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  };
  const runner = await run({ taskList, logger, preset: { worker } });
  await runner.promise;
}

const [operation, given] = process.argv.slice(2);
if (operation === "worker") {
  await work(JSON.parse(given));
} else {
  const client = await makeWorkerUtils({ connectionString, logger });
  const answer = await operations[operation](client, JSON.parse(given));
  await client.release();
  console.log(JSON.stringify(answer ?? null));
}
