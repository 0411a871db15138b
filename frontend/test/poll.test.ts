import { expect, test } from "vitest";
import { nextPoll } from "../src/model/poll";

const LIVE = { finished: false, loading: false, failed: false, silent: 0, looked: 500 };
const OVER = { ...LIVE, finished: true, silent: 500 };

test("a run that goes on is asked often, a silent one seldom", () => {
  expect(nextPoll(LIVE).seconds).toBeLessThan(1);
  expect(nextPoll({ ...LIVE, loading: true }).seconds).toBeLessThan(1);
  expect(nextPoll({ ...LIVE, silent: 500 })).toEqual({ seconds: 10 });
});

test("a finished run is asked until it settles, then only whether there are other runs", () => {
  expect(nextPoll({ ...OVER, silent: 1 })).toEqual({ seconds: 3 });
  expect(nextPoll({ ...OVER, looked: 1 })).toEqual({ seconds: 3 });
  expect(nextPoll(OVER)).toEqual({ seconds: 15, only: "runs" });
  expect(nextPoll({ ...OVER, failed: true })).toEqual({ seconds: 3 });
});
