extension Plan {
    /// Durable flows beside raw transactions on the same kind of store, and beside DBOS.
    var flows: [Experiment] { quick ? [steps] : [steps, openFlows] }

    private var steps: Experiment {
        let raw = "raw SQLite"
        let (lone, many) = ("a lone step of a durable flow", "steps a second, 256 durable flows at once")
        let own = [
            Figure(name: lone, key: "lone", unit: .microseconds, reference: raw, requirement: .ratio(.atMost, gate: 2, goal: 1.5)),
            Figure(name: many, key: "steps", unit: .perSecond, reference: raw, requirement: .ratio(.atLeast, gate: 0.3, goal: 0.5)),
        ]
        let besideDBOS = [
            Figure(
                name: "\(lone), beside DBOS",
                key: "lone",
                unit: .microseconds,
                reference: Programs.dbos,
                requirement: .ratio(.atMost, gate: 0.2, goal: 0.125)
            ),
            Figure(
                name: "\(many), beside DBOS",
                key: "steps",
                unit: .perSecond,
                reference: Programs.dbos,
                requirement: .ratio(.atLeast, gate: 30, goal: 90)
            ),
        ]
        return experiment(
            "flows",
            [programs.flows("flows"), programs.flows("raw", label: raw), programs.dbos],
            own + (quick ? [] : besideDBOS)
        )
    }

    private var openFlows: Experiment {
        experiment(
            "open-flows",
            [programs.flows("open", expected: .seconds(20))],
            [
                Figure(
                    name: "one of 10,000 open flows answers, after the process's end",
                    key: "answering",
                    unit: .milliseconds,
                    requirement: .value(.atMost, gate: 1_000, goal: 300)
                ),
                Figure(
                    name: "all 100 of them that have work are at it",
                    key: "begun",
                    unit: .milliseconds,
                    requirement: .value(.atMost, gate: 3_000, goal: 1_000)
                ),
                Figure(
                    name: "memory of a flow that sleeps",
                    key: "sleeping",
                    unit: .bytes,
                    requirement: .value(.atMost, gate: 64, goal: 16)
                ),
            ]
        )
    }
}
