extension Plan {
    /// Ten times as much work, and the time that it takes beside a tenth of it: at most twelve times as long.
    var linearity: [Experiment] {
        [
            tenfold(
                "coordinators",
                unit: .seconds,
                key: "time",
                tenthKey: "time",
                expected: .seconds(15),
                ["starts", "count=100000"],
                ["starts", "count=10000"]
            ),
            tenfold(
                "links",
                unit: .seconds,
                key: "time",
                tenthKey: "time",
                expected: .seconds(8),
                ["workers", "count=300"],
                ["workers", "count=30"]
            ),
            tenfold(
                "concurrent asks",
                unit: .milliseconds,
                key: "round/1000",
                tenthKey: "round/100",
                expected: .seconds(4),
                ["asks", "place=worker", "concurrency=1000"],
                ["asks", "place=worker", "concurrency=100"]
            ),
            tenfold(
                "payload",
                unit: .microseconds,
                key: "message/65536",
                tenthKey: "message/6554",
                expected: .seconds(4),
                ["one-way", "place=worker", "payload=65536"],
                ["one-way", "place=worker", "payload=6554"]
            ),
            tenfold(
                "depth",
                unit: .microseconds,
                key: "p50/40",
                tenthKey: "p50/4",
                expected: .seconds(2),
                ["chain", "depths=40"],
                ["chain", "depths=4"]
            ),
            tenfold(
                "observers",
                unit: .microseconds,
                key: "event/100",
                tenthKey: "event/10",
                expected: .seconds(3),
                ["fan-out", "receivers=100"],
                ["fan-out", "receivers=10"]
            ),
            tenfold(
                "names",
                unit: .milliseconds,
                key: "time",
                tenthKey: "time",
                expected: .seconds(3),
                ["names", "names=1000"],
                ["names", "names=100"]
            ),
            tenfold(
                "members of a pool",
                unit: .milliseconds,
                key: "time",
                tenthKey: "time",
                expected: .seconds(3),
                ["pool-members", "members=1000"],
                ["pool-members", "members=100"]
            ),
            tenfold(
                "parked messages",
                unit: .microseconds,
                key: "time",
                tenthKey: "time",
                expected: .seconds(2),
                ["parked", "messages=1000"],
                ["parked", "messages=100"]
            ),
        ] + (quick ? [] : [placedSubtrees])
    }

    private var placedSubtrees: Experiment {
        tenfold(
            "placed subtrees",
            unit: .milliseconds,
            key: "time",
            tenthKey: "time",
            programs.placements(1_000),
            programs.placements(100, label: Self.tenth)
        )
    }

    /// The label of our program when it does a tenth of the work.
    private static let tenth = "\(Programs.ours), a tenth"

    private func tenfold(
        _ what: String,
        unit: Unit,
        key: String,
        tenthKey: String,
        expected: Duration,
        _ arguments: [String],
        _ tenthArguments: [String]
    ) -> Experiment {
        tenfold(
            what,
            unit: unit,
            key: key,
            tenthKey: tenthKey,
            programs.ours(arguments, expected: expected),
            programs.ours(tenthArguments, label: Self.tenth, expected: expected)
        )
    }

    private func tenfold(_ what: String, unit: Unit, key: String, tenthKey: String, _ program: Program, _ tenth: Program) -> Experiment {
        experiment(
            "linearity-\(what.split(separator: " ").joined(separator: "-"))",
            [program, tenth],
            [
                Figure(
                    name: "time of 10 times the \(what)",
                    key: key,
                    unit: unit,
                    reference: tenth.label,
                    referenceKey: tenthKey,
                    requirement: .ratio(.atMost, gate: 12)
                )
            ],
            // The ratio of two medians wanders more than a median, and its gate is near.
            rounds: quick ? 3 : 7
        )
    }
}
