extension ConfigurationProblemTests {
    /// Problems of children.
    static let rowsOfChildren: [Row] = [
        Row(
            "children that aren't a list",
            "children: { name: a }\n",
            "f:1:11: `children` is a mapping; expected a list, each item with `name` and `worker` or `program`"
        ),
        Row(
            "children left empty",
            "children:\n",
            "f:1:10: `children` is empty; expected a list, each item with `name` and `worker` or `program`"
        ),
        Row(
            "a child that is a text",
            "children:\n  - shop\n",
            "f:2:5: a child is `shop`; expected a mapping with `name`, `worker`, `program`, `restart`, `stop_timeout`, `restart_limits` or others"
        ),
        Row(
            "a child without anything",
            "children:\n  - {}\n",
            "f:2:5: a child has no `name`; expected the child's name among its siblings",
            "f:2:5: a child has neither `worker` nor `program`, and no `children`, and no `oneshot`; expected one of them"
        ),
        Row(
            "a child without a key",
            "children:\n  - program: { command: [cat] }\n",
            "f:2:5: a child has no `name`; expected the child's name among its siblings"
        ),
        Row(
            "a misspelt key of a child",
            "children:\n  - name: a\n    programm: { command: [cat] }\n",
            "f:3:5: unknown key `programm` in a child; did you mean `program`?"
        ),
        Row(
            "a key that is a number",
            "children:\n  - name: 5\n    program: { command: [cat] }\n",
            "f:2:11: `name` is the number 5; expected a name (write \"5\" if it is meant as text)"
        ),
        Row(
            "a key that is empty",
            "children:\n  - name: ''\n    program: { command: [cat] }\n",
            "f:2:11: `name` is empty; expected a name"
        ),
        Row(
            "a key left empty",
            "children:\n  - name:\n    program: { command: [cat] }\n",
            "f:2:10: `name` is empty; expected a name"
        ),
        Row(
            "a key that is a list",
            "children:\n  - name: [a]\n    program: { command: [cat] }\n",
            "f:2:11: `name` is a list; expected a name"
        ),
        Row(
            "a key with a slash",
            "children:\n  - name: shop/cart\n    program: { command: [cat] }\n",
            "f:2:11: `name` is `shop/cart`; expected a name without slashes and control characters, for it becomes a part of a path"
        ),
        Row(
            "a key that names a parent",
            "children:\n  - name: \"..\"\n    program: { command: [cat] }\n",
            "f:2:11: `name` is `..`; expected a name without slashes and control characters, for it becomes a part of a path"
        ),
        Row(
            "a key with a control character",
            "children:\n  - name: \"a\\tb\"\n    program: { command: [cat] }\n",
            "f:2:11: `name` is `a\\tb`; expected a name without slashes and control characters, for it becomes a part of a path"
        ),
        Row(
            "a key with a control of the direction of text",
            "children:\n  - name: \"a\\u202Eb\"\n    program: { command: [cat] }\n",
            "f:2:11: `name` is `a\\u{202E}b`; expected a name without slashes and control characters, for it becomes a part of a path"
        ),
        Row(
            "a port of an instance where there are none",
            "children:\n  - name: a\n    program: { command: [cat], health: { tcp: \"80{instance}\" } }\n",
            "f:3:47: `tcp` is `80{instance}`, and the child has no instances; expected a number, or `instances` for the child or a group around it"
        ),
        Row(
            "a port that the last instances don't have",
            "children:\n  - name: a\n    instances: 9\n    program:\n      command: [cat]\n      ready: { http: \"http://localhost:6553{instance}/x\" }\n",
            "f:6:22: `http` is `http://localhost:6553{instance}/x`, which is `http://localhost:65536/x` for instance 6: no port from 1 to 65535"
        ),
        Row(
            "a text with the sign that is no port",
            "children:\n  - name: a\n    instances: 9\n    program:\n      command: [cat]\n      health: { tcp: \"{{instance}}\" }\n",
            "f:6:22: `tcp` is `{{instance}}`; expected a whole number from 1 to 65535, a port of this machine"
        ),
        Row(
            "a key used twice",
            "children:\n  - name: a\n    program: { command: [cat] }\n  - name: b\n    program: { command: [cat] }\n  - name: a\n    program: { command: [cat] }\n",
            "f:6:11: the name `a` is taken by the child at line 2; expected each child to have its own"
        ),
        Row(
            "both worker and program",
            "children:\n  - name: a\n    program: { command: [cat] }\n    worker: { executable: e, coordinator: c }\n",
            "f:2:5: a child has both `worker` and `program`; expected one of them"
        ),
        Row(
            "neither worker nor program",
            "children:\n  - name: a\n",
            "f:2:5: a child has neither `worker` nor `program`, and no `children`, and no `oneshot`; expected one of them"
        ),
        Row(
            "a worker that is a text",
            "children:\n  - name: a\n    worker: Shop\n",
            "f:3:13: `worker` is `Shop`; expected a mapping with `executable`, `coordinator`, `configuration`, `environment`, `directory`, "
                + "`hang` or others"
        ),
        Row(
            "a worker without anything",
            "children:\n  - name: a\n    worker: {}\n",
            "f:3:13: `worker` has no `executable`; expected the path of the worker's executable",
            "f:3:13: `worker` has no `coordinator`; expected the name of the coordinator that the worker hosts"
        ),
        Row(
            "a worker's unknown key",
            "children:\n  - name: a\n    worker: { executable: e, coordinator: c, enviroment: {} }\n",
            "f:3:46: unknown key `enviroment` in `worker`; did you mean `environment`?"
        ),
        Row(
            "a number that JSON doesn't have",
            "children:\n  - name: a\n    worker: { executable: e, coordinator: c, configuration: [.inf, .nan] }\n",
            "f:3:62: the number .inf has no form in JSON; expected a finite number",
            "f:3:68: the number .nan has no form in JSON; expected a finite number"
        ),
        Row(
            "a configuration's key that isn't a name",
            "children:\n  - name: a\n    worker: { executable: e, coordinator: c, configuration: { [1]: 2 } }\n",
            "f:3:63: a key of the configuration is a list; expected a name"
        ),
        Row(
            "a command that is a text",
            "children:\n  - name: a\n    program: { command: cat -u }\n",
            "f:3:25: `command` is `cat -u`; expected a list of the program and its arguments, such as [python3, mailer.py]"
        ),
        Row(
            "a command that is an empty list",
            "children:\n  - name: a\n    program: { command: [] }\n",
            "f:3:25: `command` is an empty list; expected a list of the program and its arguments, such as [python3, mailer.py]"
        ),
        Row(
            "a program that is a number",
            "children:\n  - name: a\n    program: { command: [7] }\n",
            "f:3:26: the program of `command` is the number 7; expected its name or path (write \"7\" if it is meant as text)"
        ),
        Row(
            "an argument that is a list",
            "children:\n  - name: a\n    program: { command: [cat, [x], ~] }\n",
            "f:3:31: an argument of `command` is a list; expected a text",
            "f:3:36: an argument of `command` is empty; expected a text (write \"\" for an empty one)"
        ),
        Row(
            "an environment that is a list",
            "children:\n  - name: a\n    program: { command: [cat], environment: [A=b] }\n",
            "f:3:45: `environment` is a list; expected a mapping of names to values, such as { LANG: C }"
        ),
        Row(
            "variables that can't be",
            "children:\n  - name: a\n    program: { command: [cat], environment: { A=b: c, \"\": d, E: , F: [g] } }\n",
            "f:3:47: the name of a variable is `A=b`; expected a name without `=`",
            "f:3:55: the name of a variable is empty; expected a name without `=`",
            "f:3:65: the variable `E` is empty; expected a text (write \"\" for an empty one)",
            "f:3:70: the variable `F` is a list; expected a text"
        ),
        Row(
            "a directory that is a truth value",
            "children:\n  - name: a\n    program: { command: [cat], directory: true }\n",
            "f:3:43: `directory` is the truth value true; expected the path of a directory (write \"true\" if it is meant as text)"
        ),
        Row(
            "an unknown restart type",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart: perhaps\n",
            "f:4:14: `restart` is `perhaps`; expected one of `always`, `on_failure`, `never`"
        ),
        Row(
            "a misspelt restart type",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart: Always\n",
            "f:4:14: `restart` is `Always`; did you mean `always`?"
        ),
        Row(
            "a restart type that is a number",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart: 5\n",
            "f:4:14: `restart` is the number 5; expected one of `always`, `on_failure`, `never`"
        ),
        Row(
            "a duration without a unit",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: 5\n",
            "f:4:19: `stop_timeout` is 5 without a unit; expected 5s if seconds are meant, or another of the units ms, s, m and h"
        ),
        Row(
            "a duration with a fraction",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: 1.5s\n",
            "f:4:19: `stop_timeout` is `1.5s`, which isn't a duration; expected a whole number and a unit, such as 250ms, 5s, 2m or 1h, or brutal_kill, or infinity"
        ),
        Row(
            "a negative duration",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: -5s\n",
            "f:4:19: `stop_timeout` is `-5s`, which isn't a duration; expected a whole number and a unit, such as 250ms, 5s, 2m or 1h, or brutal_kill, or infinity"
        ),
        Row(
            "a program that drains",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: { draining: 5s }\n",
            "f:4:31: `draining` is for workers: a program decides by itself what it does after SIGTERM; expected a duration"
        ),
        Row(
            "a shutdown left empty",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout:\n",
            "f:4:18: `stop_timeout` is empty; expected a whole number and a unit, such as 250ms, 5s, 2m or 1h, or brutal_kill, or infinity"
        ),
        Row(
            "a shutdown that is a list",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: [5s]\n",
            "f:4:19: `stop_timeout` is a list, which isn't a duration; expected a whole number and a unit, such as 250ms, 5s, 2m or 1h, or brutal_kill, or infinity"
        ),
        Row(
            "a misspelt word of shutdown",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: brutal-kil\n",
            "f:4:19: `stop_timeout` is `brutal-kil`; did you mean `brutal_kill`? (or a duration, such as 5s)"
        ),
        Row(
            "an unknown word of shutdown",
            "children:\n  - name: a\n    program: { command: [cat] }\n    stop_timeout: gently\n",
            "f:4:19: `stop_timeout` is `gently`; expected one of `brutal_kill`, `infinity` (or a duration, such as 5s)"
        ),
        Row(
            "restart limits that are a number",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart_limits: 5\n",
            "f:4:21: `restart_limits` is the number 5; expected a mapping with `max_restarts`, `period`, `backoff`, `counts`, `first_delay`, `delay`"
        ),
        Row(
            "misspelt restart limits",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart_limit: {}\n",
            "f:4:5: unknown key `restart_limit` in a child; did you mean `restart_limits`?"
        ),
        Row(
            "bad restart limits, all at once",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart_limits: { max_restarts: unlimitted, period: 0s, backof: {}, backoff: { minimum: 2m } }\n",
            "f:4:37: `max_restarts` is `unlimitted`; did you mean `unlimited`? (or a whole number)",
            "f:4:57: `period` is zero; expected a time in which restarts can be counted, such as 60s",
            "f:4:61: unknown key `backof` in `restart_limits`; did you mean `backoff`?",
            "f:4:82: `backoff` goes from 2m down to 30s; expected `minimum` to be at most `maximum`"
        ),
        Row(
            "an intensity below zero",
            "children:\n  - name: a\n    program: { command: [cat] }\n    restart_limits: { max_restarts: -1 }\n",
            "f:4:37: `max_restarts` is the number -1; expected a whole number from 0 to 1000000, or unlimited"
        ),
    ]
}
