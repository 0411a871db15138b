import { expect, test } from "vitest";
import { nextPoll } from "../src/model/poll";

const LIVE = { finished: false, loading: false, failed: false, silent: 0, looked: 500 };
const OVER = { ...LIVE, finished: true, silent: 500 };

test("the status of a live run is requested often, of a silent one seldom", () => {
  expect(nextPoll(LIVE).seconds).toBeLessThan(1);
  expect(nextPoll({ ...LIVE, loading: true }).seconds).toBeLessThan(1);
  expect(nextPoll({ ...LIVE, silent: 500 })).toEqual({ seconds: 10 });
});

test("the status of a finished run is requested until it settles, then only the list of runs", () => {
  expect(nextPoll({ ...OVER, silent: 1 })).toEqual({ seconds: 3 });
  expect(nextPoll({ ...OVER, looked: 1 })).toEqual({ seconds: 3 });
  expect(nextPoll(OVER)).toEqual({ seconds: 15, only: "runs" });
  expect(nextPoll({ ...OVER, failed: true })).toEqual({ seconds: 3 });
});
