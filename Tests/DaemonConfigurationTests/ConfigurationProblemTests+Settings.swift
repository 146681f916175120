extension ConfigurationProblemTests {
    /// Problems of the root's settings.
    static let rowsOfSettings: [Row] = [
        Row(
            "a supervision that is a text",
            "children: []\nsupervision: one_for_one\n",
            "f:2:14: `supervision` is `one_for_one`; expected a mapping with `strategy`, `max_restarts`, `period`, `backoff`"
        ),
        Row(
            "bad settings of supervision, all at once",
            "children: []\nsupervision:\n  strategy: oneForAny\n  max_restarts: -1\n  period: 0s\n  backof: {}\n  backoff: { minimum: 5, maximum: 1s, resetAfter: 5s }\n",
            "f:3:13: `strategy` is `oneForAny`; did you mean `one_for_one`?",
            "f:4:17: `max_restarts` is the number -1; expected a whole number from 0 to 1000000",
            "f:5:11: `period` is zero; expected a time in which restarts can be counted, such as 60s",
            "f:6:3: unknown key `backof` in `supervision`; did you mean `backoff`?",
            "f:7:23: `minimum` is 5 without a unit; expected 5s if seconds are meant, or another of the units ms, s, m and h",
            "f:7:39: unknown key `resetAfter` in `backoff`; did you mean `reset_after`?"
        ),
        Row(
            "an intensity with a fraction",
            "children: []\nsupervision: { max_restarts: 1.5 }\n",
            "f:2:30: `max_restarts` is the number 1.5; expected a whole number from 0 to 1000000"
        ),
        Row(
            "a backoff that shrinks",
            "children: []\nsupervision: { backoff: { minimum: 1m } }\n",
            "f:2:25: `backoff` goes from 1m down to 30s; expected `minimum` to be at most `maximum`"
        ),
        Row(
            "a bad grace",
            "children: []\norphan_grace: soon\n",
            "f:2:15: `orphan_grace` is `soon`, which isn't a duration; expected a whole number and a unit, such as 250ms, 5s, 2m or 1h"
        ),
        Row(
            "problems of several children come in the file's order",
            "children:\n  - name: a/b\n    program: { comand: [cat] }\n  - nam: c\n    worker: { executable: 5 }\n    restart: perhaps\norphan_grace: 1\n",
            "f:2:11: `name` is `a/b`; expected a name without slashes and control characters, for it becomes a part of a path",
            "f:3:16: unknown key `comand` in `program`; did you mean `command`?",
            "f:4:5: unknown key `nam` in a child; did you mean `name`?",
            "f:5:13: `worker` has no `coordinator`; expected the name of the coordinator that the worker hosts",
            "f:5:27: `executable` is the number 5; expected the path of the worker's executable (write \"5\" if it is meant as text)",
            "f:6:14: `restart` is `perhaps`; expected one of `always`, `on_failure`, `never`",
            "f:7:15: `orphan_grace` is 1 without a unit; expected 1s if seconds are meant, or another of the units ms, s, m and h"
        ),
    ]
}
