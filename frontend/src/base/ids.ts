/** Branded types for positions and ids, so that one cannot be used for another. */

export type Brand<T, Name extends string> = T & { readonly __brand: Name };

/** Name of a run, as the `runs` route gives it. */
export type RunName = Brand<string, "RunName">;
/** Position in the list of executions (eager ops and function calls), from 0. */
export type ExecutionIndex = Brand<number, "ExecutionIndex">;
/** Position in the list of graph executions (tensors computed in graphs), from 0. */
export type GraphExecutionIndex = Brand<number, "GraphExecutionIndex">;
/** Position in the list of alerts, from 0. */
export type AlertIndex = Brand<number, "AlertIndex">;
/** Opaque id of a graph. */
export type GraphId = Brand<string, "GraphId">;
/** Opaque id of a stack frame. */
export type FrameId = Brand<string, "FrameId">;
/** Position in the list of recorded source files, from 0. */
export type FileIndex = Brand<number, "FileIndex">;

export const runName = (text: string): RunName => text as RunName;
export const executionIndex = (n: number): ExecutionIndex => n as ExecutionIndex;
export const graphExecutionIndex = (n: number): GraphExecutionIndex => n as GraphExecutionIndex;
export const alertIndex = (n: number): AlertIndex => n as AlertIndex;
export const graphId = (text: string): GraphId => text as GraphId;
export const frameId = (text: string): FrameId => text as FrameId;
export const fileIndex = (n: number): FileIndex => n as FileIndex;
