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
        ]
    }

    private func tenfold(
        _ what: String,
        unit: Unit,
        key: String,
        tenthKey: String,
        expected: Duration,
        _ arguments: [String],
        _ tenthArguments: [String]
    ) -> Experiment {
        let tenth = "\(Programs.ours), a tenth"
        return experiment(
            "linearity-\(what.split(separator: " ").joined(separator: "-"))",
            [
                programs.ours(arguments, expected: expected),
                programs.ours(tenthArguments, label: tenth, expected: expected),
            ],
            [
                Figure(
                    name: "time of 10 times the \(what)",
                    key: key,
                    unit: unit,
                    reference: tenth,
                    referenceKey: tenthKey,
                    requirement: .ratio(.atMost, gate: 12)
                )
            ],
            // The ratio of two medians wanders more than a median, and its gate is near.
            rounds: quick ? 3 : 7
        )
    }
}
