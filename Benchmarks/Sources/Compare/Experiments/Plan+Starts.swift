extension Plan {
    var starts: [Experiment] {
        (quick ? [10_000] : [1_000, 10_000, 100_000]).map(startsOneByOne) + [startsAtOnce] + (quick ? [] : [millionStarts])
    }

    /// The number of children at which there are gates.
    private static let gatedCount = 10_000

    private func startsOneByOne(_ count: Int) -> Experiment {
        let isGated = count == Self.gatedCount
        let expected = Duration.seconds(1) + .microseconds(150) * count
        // Beyond this number it would stop them for minutes: each stop searches a list of all.
        let withIDs =
            count > 10_000
            ? [] : [programs.erlang(["starts", "one_for_one", "\(count)"], label: "Erlang start_child with ids", expected: expected)]
        return experiment(
            "starts-\(count)",
            [
                programs.ours("starts", "count=\(count)", expected: expected),
                programs.erlang(["starts", "simple_one_for_one", "\(count)"], label: "Erlang start_child", expected: expected),
                programs.caf(["starts", "\(count)"], expected: expected),
            ] + withIDs,
            [
                Figure(
                    name: "children started one by one, \(count)",
                    key: "starts",
                    unit: .perSecond,
                    reference: "Erlang start_child",
                    requirement: isGated ? .ratio(.atLeast, gate: 2, goal: 3) : nil,
                    point: .line(.starts, at: Double(count))
                ),
                Figure(
                    name: "start to ready of a child, mean of \(count)",
                    key: "start",
                    unit: .microseconds,
                    reference: "Erlang start_child"
                ),
                Figure(
                    name: "memory of an idle child, \(count) started one by one",
                    key: "bytes",
                    unit: .kibibytes,
                    reference: "Erlang start_child",
                    requirement: isGated ? .value(.atMost, gate: 0.7, goal: 0.5) : nil
                ),
                Figure(
                    name: "children stopped one by one, \(count)",
                    key: "stops",
                    unit: .perSecond,
                    reference: "Erlang start_child",
                    requirement: isGated ? .ratio(.atLeast, gate: 1, goal: 2) : nil
                ),
            ]
        )
    }

    private var startsAtOnce: Experiment {
        experiment(
            "starts-at-once",
            [programs.ours("starts", "at-once=true", "count=\(Self.gatedCount)", expected: .seconds(3))],
            [
                Figure(name: "children started at once, \(Self.gatedCount)", key: "starts", unit: .perSecond),
                // Of the first ones, Swift's runtime and libdispatch keep as much for the next tasks as 0.3 KiB for each task, also when
                // the tasks start nothing.
                Figure(
                    name: "memory of an idle child, \(Self.gatedCount) started at once beside as many",
                    key: "further-bytes",
                    unit: .kibibytes,
                    requirement: .value(.atMost, gate: 0.7, goal: 0.5)
                ),
                Figure(
                    name: "memory of an idle child, the first \(Self.gatedCount) started at once",
                    key: "held-bytes",
                    unit: .kibibytes
                ),
                Figure(
                    name: "memory of an idle child, the first \(Self.gatedCount) started at once, with what the allocator keeps",
                    key: "bytes",
                    unit: .kibibytes
                ),
            ]
        )
    }

    private var millionStarts: Experiment {
        let peer = "Erlang start_child"
        return experiment(
            "starts-1000000",
            [
                programs.ours("starts", "count=1000000", expected: .seconds(60)),
                programs.erlang(["starts", "simple_one_for_one", "1000000"], label: peer, expected: .seconds(30)),
                programs.caf(["starts", "1000000"], expected: .seconds(60)),
            ],
            [
                Figure(
                    name: "children started one by one, 1000000",
                    key: "starts",
                    unit: .perSecond,
                    reference: peer,
                    point: .line(.starts, at: 1e6)
                ),
                Figure(name: "memory of an idle child, 1000000 started one by one", key: "bytes", unit: .kibibytes, reference: peer),
                Figure(name: "children stopped one by one, 1000000", key: "stops", unit: .perSecond, reference: peer),
            ],
            rounds: 1
        )
    }
}
