extension Plan {
    var oneWayMessages: [Experiment] {
        [
            oneWay("one-way-across", "worker", "remote", "across processes", .oneWayAcross),
            oneWay("one-way-in-process", "local", "local", "in one process", .oneWayInProcess),
        ]
    }

    private func oneWay(_ name: String, _ place: String, _ erlangPlace: String, _ description: String, _ plot: Plot) -> Experiment {
        let sizes = quick ? [64] : [16, 64, 1_024, 65_536]
        let expected = Duration.milliseconds(milliseconds + 500) * sizes.count + .seconds(2)
        let list = sizes.map(String.init).joined(separator: ",")
        let erlang = ["\(milliseconds)"] + sizes.map(String.init)
        let isAcross = place == "worker"
        return experiment(
            name,
            [
                programs.ours("one-way", "place=\(place)", "payload=\(list)", "milliseconds=\(milliseconds)", expected: expected),
                programs.erlang(["one_way", erlangPlace, "send"] + erlang, label: "Erlang !", expected: expected),
                programs.erlang(["one_way", erlangPlace, "cast"] + erlang, label: "Erlang gen_server:cast", expected: expected),
                programs.caf(["one-way", erlangPlace] + erlang, expected: expected),
            ],
            sizes.map { size in
                Figure(
                    name: "one-way messages \(description), \(Self.text(size))",
                    key: "rate/\(size)",
                    unit: .perSecond,
                    reference: isAcross ? "Erlang !" : Programs.caf,
                    requirement: size != 64 ? nil : isAcross ? .ratio(.atLeast, gate: 2.5, goal: 5) : .ratio(.atLeast, gate: 1, goal: 2),
                    point: .line(plot, at: Double(size))
                )
            }
        )
    }

    private static func text(_ bytes: Int) -> String { bytes < 1_024 ? "\(bytes) B" : "\(bytes / 1_024) KiB" }
}
