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
/** Opaque id of a program that runs, as the `live/programs` route gives it. */
export type ProgramId = Brand<string, "ProgramId">;
/** Number of a tensor of the current call of a program that runs. */
export type LiveTensorNumber = Brand<number, "LiveTensorNumber">;
/** Number of a breakpoint of a program that runs, from 1. */
export type BreakpointNumber = Brand<number, "BreakpointNumber">;

export const runName = (text: string): RunName => text as RunName;
export const executionIndex = (n: number): ExecutionIndex => n as ExecutionIndex;
export const graphExecutionIndex = (n: number): GraphExecutionIndex => n as GraphExecutionIndex;
export const alertIndex = (n: number): AlertIndex => n as AlertIndex;
export const graphId = (text: string): GraphId => text as GraphId;
export const frameId = (text: string): FrameId => text as FrameId;
export const fileIndex = (n: number): FileIndex => n as FileIndex;
export const programId = (text: string): ProgramId => text as ProgramId;
export const liveTensorNumber = (n: number): LiveTensorNumber => n as LiveTensorNumber;
export const breakpointNumber = (n: number): BreakpointNumber => n as BreakpointNumber;
