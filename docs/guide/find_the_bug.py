"""Finds the bug of the example with pandas; `docs/guide/reading.md` goes through it.

python -m tb_debugger_plugin.examples.buggy_digits --logdir demo_logdir --steps 5
python docs/guide/find_the_bug.py demo_logdir
"""

import sys

import tb_debugger_plugin

run = tb_debugger_plugin.open_run(sys.argv[1])

# Which ops computed NaN or infinities, and how many?
tensors = run.graph_executions().df()
tensors["bad"] = tensors["nan"] + tensors["neg_inf"] + tensors["pos_inf"]
bad = tensors[tensors["bad"] > 0]
print(bad.groupby(["function", "op_type"])["bad"].sum().sort_values(ascending=False).head(), end="\n\n")

# The first one in time has the cause, or its inputs do.
first = bad.sort_values("index").iloc[0]
print(f"First: {first['op_name']}:{first['slot']} in {first['function']}", end="\n\n")

# What went into it? Each input, as it was last computed before.
(op,) = run.ops(graph_id=first["graph_id"], name=f"^{first['op_name']}$")
for name in op.inputs():
    made = tensors[(tensors["graph_id"] == first["graph_id"]) & (tensors["index"] < first["index"])]
    source = made[made["op_name"] + ":" + made["slot"].astype(str) == name].iloc[-1]
    print(source[["op_name", "size", "zero", "negative", "positive", "nan"]].to_string(), end="\n\n")

# Which line made it?
print([frame for frame in op.traceback() if frame.origin == "user"][-1], end="\n\n")

# The same in words.
print(run.why())
