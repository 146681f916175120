extension Plan {
    var workers: [Experiment] {
        let numbers = quick ? [1_000] : [10, 100, 300, 1_000]
        return [workerStarts] + numbers.map(workersAtOnce)
    }

    private var workerStarts: Experiment {
        let forty = "\(Programs.ours), 40 types"
        let nng = "C on nng streams"
        return experiment(
            "worker-starts",
            [
                programs.ours("worker-starts"), programs.ours("worker-starts", "forty-types=true", label: forty),
                programs.native("NNGWorkers", "starts", label: nng),
            ],
            [
                Figure(
                    name: "start to ready of a worker, p50",
                    key: "p50",
                    unit: .milliseconds,
                    reference: nng,
                    requirement: .value(.atMost, gate: 4, goal: 3)
                ),
                Figure(name: "start to ready of a worker, p99", key: "p99", unit: .milliseconds, reference: nng),
                Figure(
                    name: "start to ready of a worker that registers 40 types, not 3, p50",
                    key: "p50",
                    unit: .milliseconds,
                    subject: forty,
                    reference: Programs.ours,
                    requirement: .ratio(.atMost, gate: 1.1, goal: 1)
                ),
            ]
        )
    }

    private func workersAtOnce(_ count: Int) -> Experiment {
        let isMost = count == 1_000
        let idle = isMost && !quick ? 10 : 0
        var figures = [
            Figure(
                name: "\(count) workers started at once",
                key: "time",
                unit: .seconds,
                requirement: isMost ? .value(.atMost, gate: 4, goal: 2.5) : nil,
                point: .line(.workers, at: Double(count))
            ),
            Figure(
                name: "memory of the parent for each of \(count) workers",
                key: "parent-bytes",
                unit: .kibibytes,
                requirement: isMost ? .value(.atMost, gate: 64) : nil
            ),
            Figure(name: "own memory of each of \(count) workers", key: "bytes", unit: .kibibytes),
        ]
        if idle > 0 {
            figures += [
                Figure(name: "idle processor use of the parent of \(count) workers, of one core", key: "idle-parent", unit: .percent),
                Figure(name: "idle processor use of \(count) workers together, of one core", key: "idle-workers", unit: .percent),
                Figure(name: "wake-ups of the parent for each idle worker", key: "wake-ups-parent", unit: .perSecond),
                Figure(name: "wake-ups of an idle worker", key: "wake-ups-worker", unit: .perSecond),
            ]
        }
        return experiment(
            "workers-\(count)",
            [programs.ours("workers", "count=\(count)", "idle-seconds=\(idle)", expected: .seconds(5 + idle) + .milliseconds(20) * count)],
            figures,
            rounds: isMost ? 1 : 3
        )
    }

    var kills: [Experiment] {
        let count = quick ? 30 : 50
        let cases = [(0, "cold", 5.5, 4.5), (2, "with two warm spares", 1.8, 1.2)]
        let nng = "C on nng streams"
        return cases.map { spares, name, gate, goal in
            let kind = spares == 0 ? "cold" : "spare"
            return experiment(
                "kills-\(kind)",
                [
                    programs.ours("kills", "spares=\(spares)", "count=\(count)", expected: .seconds(6)),
                    programs.native("NNGWorkers", kind, label: nng),
                ],
                [
                    Figure(
                        name: "kill -9 to answer, \(name), p50",
                        key: "p50",
                        unit: .milliseconds,
                        reference: nng,
                        requirement: .value(.atMost, gate: gate, goal: goal)
                    ),
                    Figure(name: "kill -9 to answer, \(name), p99", key: "p99", unit: .milliseconds, reference: nng),
                ]
            )
        }
    }
}
